// Validates documents against docs/schema/*.schema.json. Header only, so that any test program can
// use it.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>

namespace pipesim::tests {

/// Whether `document` matches docs/schema/<name>.schema.json; a failure lists each mismatch.
inline testing::AssertionResult FitsSchema(const nlohmann::ordered_json& document,
                                           const std::string& name = "run") {
  const std::string path = PIPESIM_SOURCE_DIR "/docs/schema/" + name + ".schema.json";
  std::ifstream file(path);
  if (!file) return testing::AssertionFailure() << "cannot read " << path;
  const nlohmann::json schema_text = nlohmann::json::parse(file);
  valijson::Schema schema;
  valijson::SchemaParser(valijson::SchemaParser::kDraft7)
      .populateSchema(valijson::adapters::NlohmannJsonAdapter(schema_text), schema);
  // The adapter only supports the unordered type: convert through text.
  const nlohmann::json plain = nlohmann::json::parse(document.dump());
  valijson::ValidationResults results;
  valijson::Validator validator(valijson::Validator::kStrongTypes);
  if (validator.validate(schema, valijson::adapters::NlohmannJsonAdapter(plain), &results))
    return testing::AssertionSuccess();
  testing::AssertionResult failure = testing::AssertionFailure();
  for (valijson::ValidationResults::Error error; results.popError(error);) {
    for (const std::string& place : error.context) failure << place;
    failure << ": " << error.description << "\n";
  }
  return failure;
}

}  // namespace pipesim::tests
