// Programs of the kind that TensorFlow shows for its C++ API, written here as its users would
// translate them: line by line, with the names of docs/cpp.md's table. They prove that a
// translation needs no more than that table, so a case that must be changed in another way means
// that the table or the API is wrong. Their results are known: an eigenvalue, the coefficients of a
// line, two pixels. The graph of the first is sent through a message and used by names, as such
// programs do; the picture of the third is made by the program itself, and skipped where the module
// for PNG is absent.
#include "leat/leat.hpp"
#include "leat/ops/array.hpp"
#include "leat/ops/image.hpp"
#include "leat/ops/input.hpp"
#include "leat/ops/math.hpp"
#include "leat/ops/matrix.hpp"
#include "leat/ops/nn.hpp"
#include "leat/ops/state.hpp"
#include "leat/ops/train.hpp"
#include "test.hpp"

using namespace leat;
using namespace leat::ops;
using test::near;

// The largest eigenvalue of a matrix by iteration: each step multiplies and normalises, several
// sessions' steps run at once elsewhere in the original.
TEST(power_iteration) {
  Scope root;
  const auto a = Const(root, {{3.f, 2.f}, {-1.f, 0.f}});
  const auto x = Placeholder(root.with_op_name("x"), DT_FLOAT);
  const auto y = MatMul(root.with_op_name("y"), a, x);
  const auto y2 = Square(root, y);
  const auto y2_sum = Sum(root, y2, 0);
  const auto y_norm = Sqrt(root, y2_sum);
  const auto normalized = Div(root.with_op_name("y_normalized"), y, y_norm);

  Graph graph;  // sent elsewhere as a message, addressed by names
  graph.import(root.graph().graph_def());
  Session session(graph);
  Tensor value(DT_FLOAT, {2, 1});
  value.at<float>(0, 0) = 1;
  float lambda = 0;
  for (int step = 0; step < 50; ++step) {
    const auto outputs = session.run({{"x", value}}, {"y:0", "y_normalized:0"});
    const Tensor& product = outputs[0];
    lambda = product.at<float>(0, 0) / value.at<float>(0, 0);
    value = outputs[1];
  }
  CHECK(near(lambda, 2));  // the eigenvalues are 1 and 2
  CHECK(near(value.at<float>(0, 0) / value.at<float>(1, 0), -2));
}

// Least squares by gradients of one's own, with Assign and ApplyGradientDescent as ops.
TEST(regression_by_hand) {
  Scope root;
  const auto x = Placeholder(root, DT_FLOAT), y = Placeholder(root, DT_FLOAT);
  const auto w = VariableV2(root, {2, 1}, DT_FLOAT), b = VariableV2(root, {1, 1}, DT_FLOAT);
  const auto assign_w = Assign(root, w, {{0.f}, {0.f}}), assign_b = Assign(root, b, {{0.f}});
  const auto guess = Add(root, MatMul(root, x, w), b);
  const auto loss = Mean(root, Square(root, Sub(root, guess, y)), {0, 1});
  const auto grads = gradients(root, {loss}, {w, b});
  const auto apply_w = ApplyGradientDescent(root, w, 0.1f, grads[0]);
  const auto apply_b = ApplyGradientDescent(root, b, 0.1f, grads[1]);

  Session session(root);
  session.run({assign_w, assign_b});
  const Tensor inputs = {{1.f, 0.f}, {0.f, 1.f}, {1.f, 1.f}, {-1.f, 1.f}};
  const Tensor targets = {{3.f}, {-1.f}, {1.f}, {-3.f}};  // 2 p - 2 q + 1
  for (int i = 0; i < 2000; ++i) session.run({{x, inputs}, {y, targets}}, {apply_w, apply_b});
  const auto found = session.run({w, b});
  CHECK(near(found[0].at<float>(0, 0), 2, 1e-3) && near(found[0].at<float>(1, 0), -2, 1e-3));
  CHECK(near(found[1].at<float>(0, 0), 1, 1e-3));
}

// A picture's way into a network: decoded, enlarged, scaled to -1 to 1, and the best two labels.
TEST(reading_and_labelling_a_picture) {
  Scope root;
  // A PNG is made first, because no test brings files: two pixels, black and white.
  const auto png = EncodePng(root, Tensor(std::vector<std::uint8_t>{0, 255}, {1, 2, 1}));
  const auto decoded = DecodePng(root.with_op_name("decoded"), png, DecodePng::Channels(1));
  const auto floats = Cast(root.with_op_name("float"), decoded, DT_FLOAT);
  const auto batch = ExpandDims(root, floats, 0);
  const auto resized =
      ResizeBilinear(root, batch, Const(root.with_op_name("size"), {2, 2}));
  const auto scaled = Div(root.with_op_name("scaled"), Sub(root, resized, {127.5f}), {127.5f});
  const auto top = TopKV2(root.with_op_name("top"), Reshape(root, scaled, {-1}), 2);
  Session session(root);
  std::vector<Tensor> out;
  try {
    out = session.run({scaled, top.values, top.indices});
  } catch (const Error& error) {
    if (error.code() != TF_UNIMPLEMENTED) throw;  // the module for PNG is absent
    std::printf("SKIP %s\n", error.what());
    return;
  }
  CHECK(out[0].shape() == TensorShape({1, 2, 2, 1}));
  CHECK(out[0].to_vector<float>() == std::vector<float>({-1, 1, -1, 1}));
  CHECK(out[2].to_vector<int>() == std::vector<int>({1, 3}));
}

int main() { return test::run_tests(); }
