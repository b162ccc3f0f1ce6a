// The sections for the run as a whole.
#include "report/json_parts.h"

namespace pipesim::report {
namespace {

using trace::EndReason;

std::string_view StatusOf(EndReason reason) {
  switch (reason) {
    case EndReason::kInterrupted:
      return "interrupted";
    case EndReason::kFailed:
      return "failed";
    case EndReason::kOutOfMemory:
      return "oom";
    case EndReason::kDuration:
    case EndReason::kSteps:
    case EndReason::kEpochs:
    case EndReason::kEnough:
    case EndReason::kMaxDuration:
      break;
  }
  return "ok";
}

std::string_view TextOf(EndReason reason) {
  switch (reason) {
    case EndReason::kDuration:
      return "duration";
    case EndReason::kSteps:
      return "steps";
    case EndReason::kEpochs:
      return "epochs";
    case EndReason::kEnough:
      return "enough";
    case EndReason::kMaxDuration:
      return "max_duration";
    case EndReason::kInterrupted:
      return "interrupted";
    case EndReason::kFailed:
      return "failure";
    case EndReason::kOutOfMemory:
      return "out_of_memory";
  }
  return "enough";
}

Document EpochsValue(const std::vector<measure::EpochResult>& epochs) {
  Document array = Document::array();
  for (const measure::EpochResult& epoch : epochs)
    array.push_back({{"index", epoch.index},
                     {"samples_per_s", NumberValue(epoch.samples_per_s)},
                     {"time_to_first_batch_s", NumberValue(epoch.time_to_first_batch_s)},
                     {"starved_fraction", NumberValue(epoch.starved_fraction)},
                     {"cache_hit_fraction", NumberValue(epoch.cache_hit_fraction)}});
  return array;
}

Document JudgedValue(const std::optional<measure::EpochRange>& epochs) {
  if (!epochs) return nullptr;
  return {{"first", epochs->first}, {"last", epochs->last}};
}

Document DiskValue(const std::optional<measure::Disk>& disk) {
  if (!disk) return nullptr;
  return {{"name", TextValue(disk->name)},
          {"reads_per_s", NumberValue(disk->reads_per_s)},
          {"read_bytes_per_s", NumberValue(disk->read_bytes_per_s)},
          {"await_s", NumberValue(disk->await_s)},
          {"utilization", NumberValue(disk->utilization)},
          {"queue_length", NumberValue(disk->queue_length)}};
}

Document GpuValue(const std::optional<measure::Gpu>& gpu) {
  if (!gpu) return nullptr;
  return {{"power_w", NumberValue(gpu->power_w)},
          {"power_limit_w", NumberValue(gpu->power_limit_w)},
          {"sm_clock_mhz", NumberValue(gpu->sm_clock_mhz)},
          {"sm_clock_limit_mhz", NumberValue(gpu->sm_clock_limit_mhz)},
          {"memory_clock_mhz", NumberValue(gpu->memory_clock_mhz)}};
}

Document MeetingValue(const measure::Meeting& meeting) {
  return {{"au", NumberValue(meeting.au)},
          {"samples_per_s", NumberValue(meeting.samples_per_s)},
          {"first_step_s", NumberValue(meeting.first_step_s)},
          {"epochs", meeting.epochs}};
}

Document LossValue(const std::optional<measure::Loss>& loss) {
  if (!loss) return nullptr;
  return {{"readings", loss->readings},
          {"first_step", loss->first_step},
          {"first", NumberValue(loss->first)},
          {"last_step", loss->last_step},
          {"last", NumberValue(loss->last)}};
}

Document StepTimeValue(const std::optional<measure::StepTime>& step) {
  if (!step) return nullptr;
  return {{"mean", NumberValue(step->mean_s)},
          {"p50", NumberValue(step->p50_s)},
          {"p95", NumberValue(step->p95_s)},
          {"p99", NumberValue(step->p99_s)}};
}

}  // namespace

Document ResultSection(const measure::Result& result) {
  Document section = {{"status", StatusOf(result.stopped_by)},
          {"stopped_by", TextOf(result.stopped_by)},
          {"accelerators", result.accelerators},
          {"samples_per_s", NumberValue(result.samples_per_s)},
          {"samples_per_s_interval", IntervalValue(result.samples_per_s_interval)},
          {"samples_per_s_each", NumberValue(result.samples_per_s_each)},
          {"steps_per_s", NumberValue(result.steps_per_s)},
          {"step_time_s", StepTimeValue(result.step_time)},
          {"time_to_first_batch_s", NumberValue(result.time_to_first_batch_s)},
          {"warmup_s", NumberValue(result.warmup_s)},
          {"measured_s", NumberValue(result.measured_s)},
          {"warmup_steps", result.warmup_steps},
          {"steps", result.steps},
          {"samples", result.samples},
          {"accelerator_utilization", NumberValue(result.accelerator_utilization)},
          {"epochs", EpochsValue(result.epochs)},
          {"judged_epochs", JudgedValue(result.judged_epochs)},
          {"loss", LossValue(result.loss)}};
  if (result.meeting) section["mlperf"] = MeetingValue(*result.meeting);
  return section;
}

Document DemandsSection(const measure::Demands& demands) {
  Document section = {{"batch_samples", demands.batch_samples},
          {"read_s", NumberValue(demands.read_s)},
          {"read_cpu_s", NumberValue(demands.read_cpu_s)},
          {"reads", NumberValue(demands.reads)},
          {"bytes", NumberValue(demands.bytes)},
          {"prepare_cpu_s", NumberValue(demands.prepare_cpu_s)},
          {"prepare_wait_s", NumberValue(demands.prepare_wait_s)},
          {"collate_s", NumberValue(demands.collate_s)},
          {"pin_s", NumberValue(demands.pin_s)},
          {"h2d_s", NumberValue(demands.h2d_s)},
          {"host_s", NumberValue(demands.host_s)},
          {"step_s", NumberValue(demands.step_s)},
          {"step_one_thread_s", NumberValue(demands.step_one_thread_s)},
          {"step_cpu_s", NumberValue(demands.step_cpu_s)},
          {"sync_s", NumberValue(demands.sync_s)}};
  if (demands.copying_limit)
    section["copying_bytes_per_s"] = NumberValue(demands.copying_limit->per_s);
  // Only worker processes hand over.
  if (demands.send_s > 0) section["send_s"] = NumberValue(demands.send_s);
  if (demands.receive_s > 0) section["receive_s"] = NumberValue(demands.receive_s);
  return section;
}

Document ResourcesSection(const measure::Resources& resources) {
  return {{"cores", NumberValue(resources.cores)},
          {"cores_used", NumberValue(resources.cores_used)},
          {"cores_used_training", NumberValue(resources.cores_used_training)},
          {"cores_used_loading", NumberValue(resources.cores_used_loading)},
          {"cpu_utilization", NumberValue(resources.cpu_utilization)},
          {"trainer_contended_fraction", NumberValue(resources.trainer_contended_fraction)},
          {"runnable_threads", NumberValue(resources.runnable_threads)},
          {"foreign_cores", NumberValue(resources.foreign_cores)},
          {"peer_cores", NumberValue(resources.peer_cores)},
          {"throttled_fraction", NumberValue(resources.throttled_fraction)},
          {"storage_utilization", NumberValue(resources.storage_utilization)},
          {"storage_bytes_per_s", NumberValue(resources.storage_bytes_per_s)},
          {"reads_per_s", NumberValue(resources.reads_per_s)},
          {"disk", DiskValue(resources.disk)},
          {"page_cached_fraction", NumberValue(resources.page_cached_fraction)},
          {"gpu_utilization_nvml", NumberValue(resources.gpu_utilization_nvml)},
          {"gpu", GpuValue(resources.gpu)}};
}

}  // namespace pipesim::report
