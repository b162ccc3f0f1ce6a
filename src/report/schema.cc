#include "report/schema.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>

#include "base/text.h"
#include "report/schemas.h"

namespace pipesim::report {
namespace {

// The adapter takes only the unordered type.
using Json = nlohmann::json;
using Adapter = valijson::adapters::NlohmannJsonAdapter;
using Misfits = valijson::ValidationResults;

const SchemaText* SchemaOf(std::string_view kind) {
  const auto* const found =
      std::find_if(std::begin(kSchemas), std::end(kSchemas),
                   [&](const SchemaText& schema) { return schema.kind == kind; });
  return found == std::end(kSchemas) ? nullptr : found;
}

/// "result.samples_per_s: "fast": Value type not permitted by 'type' constraint". The validator
/// names a place as {"<root>", "[result]", "[samples_per_s]"}.
std::string MisfitText(const Misfits::Error& error, const Json& document) {
  std::string path;
  const Json* value = &document;
  for (std::size_t i = 1; i < error.context.size(); ++i) {
    const std::string& bracketed = error.context[i];
    const std::string step = bracketed.substr(1, bracketed.size() - 2);
    path += (path.empty() ? "" : ".") + step;
    if (value == nullptr) continue;
    if (value->is_object() && value->contains(step))
      value = &value->at(step);
    else if (value->is_array() && step.find_first_not_of("0123456789") == std::string::npos)
      value = &value->at(std::stoul(step));
    else
      value = nullptr;
  }
  std::string why = error.description;
  while (why.ends_with('.')) why.pop_back();
  if (path.empty()) return base::Printable(why);
  const std::string shown =
      value == nullptr || value->is_structured()
          ? ""
          : value->dump(-1, ' ', false, Json::error_handler_t::replace).substr(0, 60) + ": ";
  return base::Printable(path + ": " + shown + why);
}

}  // namespace

bool HasSchema(std::string_view kind) { return SchemaOf(kind) != nullptr; }

std::optional<std::string> Misfit(const Document& document, std::string_view kind) {
  const Json schema_json = Json::parse(SchemaOf(kind)->json);
  valijson::Schema schema;
  valijson::SchemaParser(valijson::SchemaParser::kDraft7)
      .populateSchema(Adapter(schema_json), schema);
  const Json plain(document);
  Misfits misfits;
  valijson::Validator validator(valijson::Validator::kStrongTypes);
  if (validator.validate(schema, Adapter(plain), &misfits)) return std::nullopt;
  // Of alternatives (null or an object) the deepest says most.
  Misfits::Error deepest;
  for (Misfits::Error error; misfits.popError(error);)
    if (error.context.size() > deepest.context.size()) deepest = error;
  return MisfitText(deepest, plain);
}

}  // namespace pipesim::report
