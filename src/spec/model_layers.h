// Reads and writes lists of layers. The only place that knows which fields a layer has. Knows no
// shapes (model_costs.cc does).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "spec/map_reader.h"
#include "spec/model.h"
#include "spec/node.h"

namespace pipesim::spec {

/// `linear: {out: classes}` has 0 outputs until the data set's classes are known.
inline constexpr std::int64_t kOutIsClasses = 0;

struct LayerList {
  std::vector<Layer> layers;  ///< `repeat` expanded
  std::vector<Place> places;  ///< of each layer
};

/// Reads a sequence of layers: `relu`, `linear: {out: 512}`, `repeat: {times: 4, body: [...]}`,
/// `residual: {body: [...], shortcut: [...]}`. Problems go to `reading`.
LayerList ReadLayers(Reading& reading, const Node& list, const std::string& path);

/// The list as YAML flow text that ReadLayers accepts.
std::string LayersText(const std::vector<Layer>& layers);

/// The kind and its main fields, "conv2d 64 7x7/2", for tables and messages.
std::string DescribeLayer(const Layer& layer);

/// Sets the outputs of every layer with `out: classes`.
void SetClasses(std::vector<Layer>& layers, std::int64_t classes);
bool UsesClasses(const std::vector<Layer>& layers);

}  // namespace pipesim::spec
