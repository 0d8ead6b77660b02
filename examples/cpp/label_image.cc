// What is in a picture, by a network that others trained: a frozen graph, whose variables have
// become constants, so that it needs no checkpoint.
//
//   cpp_label_image --graph FILE.pb --labels FILE --image FILE.jpg --size 224
//
// The picture is decoded, resized and scaled by a small graph of its own, and the result is fed to
// the network by the name of its input, as any imported graph is used. --input and --output name
// the tensors (MobileNet's by default), --size is the side of the square that the network wants.
// --smoke needs LEAT_DATA_DIR and looks at a photo of Grace Hopper, where class 653, "military
// uniform", must come first.
#include <cstdio>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "flags.hpp"
#include "leat/leat.hpp"
#include "leat/ops/array.hpp"
#include "leat/ops/image.hpp"
#include "leat/ops/input.hpp"
#include "leat/ops/math.hpp"
#include "leat/ops/nn.hpp"

using namespace leat;
using namespace leat::ops;

namespace {

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot open " + path);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

std::vector<std::string> read_lines(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

/// The picture as the network wants it: [1, size, size, 3], from -1 to 1.
Tensor read_picture(const std::string& path, int size) {
  Scope scope;
  const auto file = ReadFile(scope, path);
  const bool png = path.size() > 4 && path.substr(path.size() - 4) == ".png";
  const Output image = png ? DecodePng(scope, file, DecodePng::Channels(3)).image
                           : DecodeJpeg(scope, file, DecodeJpeg::Channels(3)).image;
  const auto one = ExpandDims(scope, Cast(scope, image, DT_FLOAT), 0);
  const auto resized = ResizeBilinear(scope, one, {size, size});
  const Output scaled = Div(scope, Sub(scope, resized, 127.5f), 127.5f);
  return Session(scope).run({scaled})[0];
}

int label(const Flags& flags) {
  const char* root = std::getenv("LEAT_DATA_DIR");
  if (flags.smoke() && !root) {
    std::printf("SKIP: LEAT_DATA_DIR is not set\n");
    return 77;
  }
  const std::string data = root ? root : ".";
  const std::string graph_file = flags.text(
      "--graph", data + "/models/graphdef/haithienld_tfmobile/tf_files/models/mobilenet_0.50_224/"
                        "mobilenet_v1_0.50_224/quantized_graph.pb");
  const auto labels =
      read_lines(flags.text("--labels", data + "/models/labels/imagenet_1001_labels.txt"));
  const std::string picture = flags.text("--image", data + "/images/grace_hopper.jpg");

  Graph graph;
  graph.import(Message("GraphDef", read_file(graph_file)));
  Scope scope(graph);
  const Output scores = graph.output(flags.text("--output", "MobilenetV1/Predictions/Reshape_1"));
  const auto top = TopKV2(scope, scores, 5);
  const auto found = Session(graph).run(
      {{flags.text("--input", "input"), read_picture(picture, flags.number("--size", 224))}},
      {top.values, top.indices});
  for (int i = 0; i < 5; ++i) {
    const int place = found[1].at<int>(0, i);
    const std::string name = static_cast<std::size_t>(place) < labels.size()
                                 ? labels[static_cast<std::size_t>(place)]
                                 : std::to_string(place);
    std::printf("%.4f %s\n", found[0].at<float>(0, i), name.c_str());
  }
  return flags.smoke() && found[1].at<int>(0, 0) != 653 ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return label(Flags(argc, argv));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
