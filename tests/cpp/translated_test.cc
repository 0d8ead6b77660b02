// Programs that do what TensorFlow's examples for its C++ API do, written here as its users would
// translate them: line by line, with the names of the table in docs/cpp.md. They prove that a
// translation needs no more than that table, so a case that must be changed in another way means
// that the table or the API is wrong. Their results are known: an eigenvalue, the coefficients of a
// line, two pixels, a pure tone. Where an example reads a file, the case makes one first; that of
// the picture is skipped where the module for PNG is absent.
#include "leat/leat.hpp"
#include "leat/ops/array.hpp"
#include "leat/ops/audio.hpp"
#include "leat/ops/image.hpp"
#include "leat/ops/index.hpp"
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

// A sound's picture: a WAV is decoded, cut into windows of 64 samples, and the strength of each
// frequency in each window becomes the brightness of a pixel.
TEST(a_sound_becomes_a_picture) {
  Scope root;
  Tensor sound(DT_FLOAT, {512, 1});  // 8 waves in each window
  for (int i = 0; i < 512; ++i) {
    sound.at<float>(i, 0) = 0.5f * static_cast<float>(std::sin(2 * 3.14159265358979 * i / 8));
  }
  const auto file = EncodeWav(root, sound, 16000);
  const auto wav = DecodeWav(root.with_op_name("wav"), file, DecodeWav::DesiredChannels(1));
  const auto spectrogram = AudioSpectrogram(root.with_op_name("spectrogram"), wav.audio, 64, 32,
                                            AudioSpectrogram::MagnitudeSquared(true));
  const auto bright = Multiply(root, spectrogram, Const(root.with_op_name("brightness"), 8.f));
  const auto limited = Minimum(root, bright, Const(root.with_op_name("max"), 255.f));
  const auto batch = ExpandDims(root, limited, Const(root, -1));
  const auto picture = Cast(root, Squeeze(root, batch, Squeeze::SqueezeDims({0})), DT_UINT8);
  Session session(root);
  const auto out = session.run({wav.sample_rate, spectrogram, picture});
  CHECK(out[0].scalar<int>() == 16000);
  CHECK(out[1].shape() == TensorShape({1, 15, 33}));  // 15 windows, 33 frequencies
  CHECK(out[2].shape() == TensorShape({15, 33, 1}) && out[2].dtype() == DT_UINT8);
  for (int window = 0; window < 15; ++window) {
    CHECK(out[2].at<std::uint8_t>(window, 8, 0) == 255);  // the pure tone, and no other
    CHECK(out[2].at<std::uint8_t>(window, 20, 0) == 0);
  }
}

// What a detector finds in a picture: scores of boxes become probabilities, the best are taken, and
// those that overlap a better one are dropped.
TEST(the_best_boxes_of_a_detector) {
  Scope root;
  const auto boxes = Placeholder(root.with_op_name("boxes"), DT_FLOAT);
  const auto scores = Placeholder(root.with_op_name("scores"), DT_FLOAT);
  const auto decoded = Sigmoid(root.with_op_name("decoded"), scores);
  const auto top = TopKV2(root.with_op_name("top"), decoded, 3);
  const auto best = GatherV2(root, boxes, top.indices, 0);
  const auto kept = NonMaxSuppression(root, best, top.values, 3);  // at most half of their union
  Session session(root);
  const Tensor found = {{0.f, 0.f, 1.f, 1.f}, {5.f, 5.f, 6.f, 6.f}, {0.f, 0.f, 1.f, 0.9f},
                        {9.f, 9.f, 10.f, 10.f}};
  const auto out = session.run({{"boxes", found}, {"scores", {2.f, 0.f, 1.f, -5.f}}},
                               {top.values, top.indices, kept});
  CHECK(near(out[0].at<float>(0), 1 / (1 + std::exp(-2))) && out[0].at<float>(2) == 0.5f);
  CHECK(out[1].to_vector<int>() == std::vector<int>({0, 2, 1}));
  CHECK(out[2].to_vector<int>() == std::vector<int>({0, 2}));  // places among the three
}

// Derivatives of a list by a list, with derivatives of a result by each y; a loop that is counted;
// a signature that is run again and again.
TEST(gradients_loops_and_callables) {
  Scope root = Scope();
  const auto x = Placeholder(root, DT_FLOAT, Placeholder::Shape({2, 1}));
  const auto y0 = MatMul(root, Const(root, {{1.f, 2.f}, {3.f, 4.f}}), x);
  const auto y1 = Subtract(root, Negate(root, x), 1.f);
  const auto ones = Const(root, {{1.f}, {1.f}}), tens = Const(root, {{10.f}, {10.f}});
  const std::vector<Output> grads = gradients(root, {y0, y1}, {x}, {ones, tens});
  if (!root.ok()) std::printf("%s\n", root.status().message().c_str());
  const std::vector<Output> loop = while_loop(
      root, {Const(root, 0), ReduceSum(root, x, {0, 1})},
      [](const Scope& s, const std::vector<Output>& v) { return Less(s, v[0], 3); },
      [](const Scope& s, const std::vector<Output>& v) {
        return std::vector<Output>{AddV2(s, v[0], 1), Multiply(s, v[1], 2.f)};
      });
  Session session(root);
  const Tensor value = {{1.f}, {2.f}};
  const auto out = session.run({{x, value}}, {grads[0], loop[1]});
  CHECK(out[0].to_vector<float>() == std::vector<float>({1 + 3 - 10, 2 + 4 - 10}));
  CHECK(out[1].scalar<float>() == 3 * 8);
  const Callable handle = session.callable({x}, {y1});
  for (int i = 0; i < 3; ++i) CHECK(handle({value})[0].at<float>(1, 0) == -3);
}

int main() { return test::run_tests(); }
