// Attributes of every kind arrive in the graph as they were given: from values in braces, from
// vectors, and through the optional attributes of an op.
#include "leat/leat.hpp"
#include "leat/ops/queue.hpp"
#include "test.hpp"

using namespace leat;
using namespace leat::ops;

namespace {

/// The attribute |name| of the only node of |scope|'s graph that has it, on one line.
std::string attribute_text(const Scope& scope, const std::string& name) {
  const std::string text = scope.graph().graph_def().text();
  const std::size_t key = text.find("key: \"" + name + "\"");
  if (key == std::string::npos) return "none";
  std::string line;
  int depth = 0;
  for (std::size_t i = text.find('{', key); i < text.size(); ++i) {
    const bool blank = text[i] == ' ' || text[i] == '\n';
    if (!blank || line.back() != ' ') line += blank ? ' ' : text[i];
    depth += (text[i] == '{') - (text[i] == '}');
    if (!depth) break;
  }
  return line;
}

/// What an operation has that was given |value|.
std::string kept(const AttrValue& value) {
  Scope scope;
  OpBuilder(scope, "NoOp").attribute("_kept", value).finish();
  return attribute_text(scope, "_kept");
}

TEST(single_values_are_kept) {
  CHECK(kept(true) == "{ b: true }");
  CHECK(kept(-7) == "{ i: -7 }");
  CHECK(kept(std::int64_t{1} << 40) == "{ i: 1099511627776 }");
  CHECK(kept(0.5) == "{ f: 0.5 }");
  CHECK(kept("SAME") == "{ s: \"SAME\" }");
  CHECK(kept(std::string("a\0b", 3)) == "{ s: \"a\\000b\" }");
  CHECK(kept(DT_INT64) == "{ type: DT_INT64 }");
  CHECK(kept(TensorShape({2, -1})) == "{ shape { dim { size: 2 } dim { size: -1 } } }");
  CHECK(kept(TensorShape::unknown()) == "{ shape { unknown_rank: true } }");
  CHECK(kept(FunctionName("f")) == "{ func { name: \"f\" } }");
}

TEST(lists_are_kept) {
  CHECK(kept(std::vector<bool>{true, false}) == "{ list { b: true b: false } }");
  CHECK(kept(std::vector<int>{1, -2}) == "{ list { i: 1 i: -2 } }");
  CHECK(kept(std::vector<std::int64_t>{3}) == "{ list { i: 3 } }");
  CHECK(kept(std::vector<float>{0.5f, -4}) == "{ list { f: 0.5 f: -4 } }");
  CHECK(kept(std::vector<std::string>{"one", "", "three"}) ==
        "{ list { s: \"one\" s: \"\" s: \"three\" } }");
  CHECK(kept(std::vector<DataType>{DT_FLOAT, DT_STRING}) ==
        "{ list { type: DT_FLOAT type: DT_STRING } }");
  CHECK(kept(std::vector<TensorShape>{{4}, TensorShape::unknown(), {}}) ==
        "{ list { shape { dim { size: 4 } } shape { unknown_rank: true } shape { } } }");
  CHECK(kept(std::vector<FunctionName>{"f", "gg"}) ==
        "{ list { func { name: \"f\" } func { name: \"gg\" } } }");
  CHECK(kept(std::vector<int>()) == "{ list { } }");
}

TEST(optional_attributes_are_kept) {
  Scope scope, other;
  const auto one = FIFOQueueV2::Capacity(3);
  FIFOQueueV2(scope, {DT_INT32}, one.Container("box"));
  CHECK(attribute_text(scope, "capacity") == "{ i: 3 }");
  CHECK(attribute_text(scope, "container") == "{ s: \"box\" }");
  CHECK(attribute_text(scope, "component_types") == "{ list { type: DT_INT32 } }");
  const std::vector<DataType> types = {DT_INT32, DT_FLOAT};
  FIFOQueueV2(other, types, one);  // which is as it was
  CHECK(attribute_text(other, "container") == "{ s: \"\" }");
  CHECK(attribute_text(other, "component_types") == "{ list { type: DT_INT32 type: DT_FLOAT } }");
}

}  // namespace

int main() { return test::run_tests(); }
