#include "base/error.h"
#include "engine/torch/cuda.h"

namespace pipesim::engine {

const StageMarks* NvtxMarks() {
  throw base::EnvironmentError(
      "this libpipesim_torch.so was built without NVTX's headers (nvtx3/nvToolsExt.h); they come with a CUDA "
      "toolkit or PyPI's nvidia-nvtx beside a LibTorch for CUDA");
}

}  // namespace pipesim::engine
