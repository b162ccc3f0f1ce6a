// Where the time went (consumer, device, workers), and the queues between the stages.
#include "report/json_parts.h"

namespace pipesim::report {

Document ConsumerSection(const measure::Consumer& consumer) {
  Document section = {{"wall_s", NumberValue(consumer.wall_s)},
          {"starved_s", NumberValue(consumer.starved_s)},
          {"h2d_s", NumberValue(consumer.h2d_s)},
          {"host_s", NumberValue(consumer.host_s)},
          {"compute_s", NumberValue(consumer.compute_s)},
          {"forward_s", NumberValue(consumer.forward_s)},
          {"backward_s", NumberValue(consumer.backward_s)},
          {"optimizer_s", NumberValue(consumer.optimizer_s)},
          {"sync_s", NumberValue(consumer.sync_s)},
          {"contended_s", NumberValue(consumer.contended_s)},
          {"other_s", NumberValue(consumer.other_s)}};
  if (consumer.receive_s) section["receive_s"] = NumberValue(*consumer.receive_s);
  return section;
}

Document DeviceSection(const std::optional<measure::Device>& device) {
  if (!device) return nullptr;
  return {{"clock", TextValue(device->clock)},
          {"wall_s", NumberValue(device->wall_s)},
          {"busy_s", NumberValue(device->busy_s)},
          {"starved_s", NumberValue(device->starved_s)},
          {"transfer_s", NumberValue(device->transfer_s)},
          {"launch_s", NumberValue(device->launch_s)},
          {"sync_s", NumberValue(device->sync_s)},
          {"other_s", NumberValue(device->other_s)}};
}

namespace {

Document WorkerTimes(const measure::Workers& workers) {
  Document section = {{"count", workers.count},
          {"wall_s", NumberValue(workers.wall_s)},
          {"startup_s", NumberValue(workers.startup_s)},
          {"read_s", NumberValue(workers.read_s)},
          {"prepare_s", NumberValue(workers.prepare_s)},
          {"collate_s", NumberValue(workers.collate_s)},
          {"contended_s", NumberValue(workers.contended_s)},
          {"blocked_on_consumer_s", NumberValue(workers.blocked_on_consumer_s)},
          {"blocked_on_order_s", NumberValue(workers.blocked_on_order_s)},
          {"idle_s", NumberValue(workers.idle_s)},
          {"other_s", NumberValue(workers.other_s)},
          {"unmeasured", TextArray(workers.unmeasured)}};
  if (workers.send_s > 0) section["send_s"] = NumberValue(workers.send_s);
  return section;
}

}  // namespace

Document WorkersSection(const measure::Workers& workers) {
  Document section = WorkerTimes(workers);
  // 0 would mean that it was measured.
  for (const std::string& state : workers.unmeasured)
    if (const auto found = section.find(state + "_s"); found != section.end()) *found = nullptr;
  section["each"] = Document::array();
  for (const measure::Workers& worker : workers.each) {
    Document one = WorkerTimes(worker);
    one.erase("count");
    section["each"].push_back(one);
  }
  return section;
}

Document QueueSection(const measure::Queue& queue) {
  return {{"capacity", queue.capacity},
          {"occupancy_mean", NumberValue(queue.occupancy_mean)},
          {"empty_fraction", NumberValue(queue.empty_fraction)},
          {"full_fraction", NumberValue(queue.full_fraction)}};
}

Document PinSection(const std::optional<measure::Pin>& pin) {
  if (!pin) return nullptr;
  Document section = {{"wall_s", NumberValue(pin->wall_s)},
          {"pin_s", NumberValue(pin->pin_s)},
          {"contended_s", NumberValue(pin->contended_s)},
          {"blocked_s", NumberValue(pin->blocked_s)},
          {"idle_s", NumberValue(pin->idle_s)},
          {"other_s", NumberValue(pin->other_s)}};
  if (pin->receive_s > 0) section["receive_s"] = NumberValue(pin->receive_s);
  return section;
}

Document TransferSection(const measure::TransferUse& transfer) {
  return {{"bytes", transfer.bytes}, {"bytes_per_s", NumberValue(transfer.bytes_per_s)}};
}

Document MemorySection(const measure::Memory& memory) {
  return {{"rss_peak_bytes", CountValue(memory.rss_peak_bytes)},
          {"device_peak_bytes", CountValue(memory.device_peak_bytes)},
          {"device_total_bytes", CountValue(memory.device_total_bytes)},
          {"queued_bytes", memory.queued_bytes}};
}

}  // namespace pipesim::report
