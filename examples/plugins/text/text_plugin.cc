// A library of the ops of TensorFlow Text that saved models name, for any runtime with TensorFlow's
// C API: tokenizers (whitespace, scripts of Unicode, Wordpiece, SentencePiece, split and merge by
// labels), normal forms and case folding, splitting by regular expressions, sentences, ROUGE-L,
// and the search for the best sequence or tree. Each file has a group of ops; kernel.hpp says how
// they are written. Unicode is ICU's, regular expressions are RE2's, SentencePiece is its own
// library.
//
// TF_LoadLibrary runs the constructor below, which declares the ops and registers their kernels. An
// op that exists already (TensorFlow Text itself may be loaded) is left to whoever declared it.
#include <cstdio>
#include <map>

#include "kernel.hpp"

namespace text {

static std::map<std::string, std::vector<std::string>>& all_input_names() {
  static std::map<std::string, std::vector<std::string>> names;
  return names;
}

const std::vector<std::string>& input_names(const std::string& op) {
  return all_input_names().at(op);
}

void register_op(const Op& op) {
  TF_OpDefinitionBuilder* builder = TF_NewOpDefinitionBuilder(op.name);
  if (!builder) throw std::bad_alloc();
  for (const char* input : op.inputs) TF_OpDefinitionBuilderAddInput(builder, input);
  for (const char* output : op.outputs) TF_OpDefinitionBuilderAddOutput(builder, output);
  for (const char* attribute : op.attributes) TF_OpDefinitionBuilderAddAttr(builder, attribute);
  if (op.is_stateful) TF_OpDefinitionBuilderSetIsStateful(builder, true);
  TF_OpDefinitionBuilderSetShapeInferenceFunction(builder, op.shape);
  Status status;
  TF_RegisterOpDefinition(builder, status.get());
  status.check();
  std::vector<std::string> names;
  for (const std::string input : op.inputs) names.push_back(input.substr(0, input.find(':')));
  all_input_names()[op.name] = names;
}

// ---- Shapes -------------------------------------------------------------------------------------

void check_rank(TF_ShapeInferenceContext* context, int input, int rank, TF_Status* status) {
  if (TF_GetCode(status) != TF_OK) return;
  TF_ShapeHandle *shape = TF_NewShapeHandle(), *ranked = TF_NewShapeHandle();
  TF_ShapeInferenceContextGetInput(context, input, shape, status);
  if (TF_GetCode(status) == TF_OK) {
    TF_ShapeInferenceContextWithRank(context, shape, rank, ranked, status);
  }
  TF_DeleteShapeHandle(ranked);
  TF_DeleteShapeHandle(shape);
}

void as_scalar(TF_ShapeInferenceContext* context, TF_Status* status) {
  TF_ShapeHandle* scalar = TF_ShapeInferenceContextScalar(context);
  TF_ShapeInferenceContextSetOutput(context, 0, scalar, status);
  TF_DeleteShapeHandle(scalar);
}

// ---- Loading ------------------------------------------------------------------------------------

// Runs when the library is loaded.
__attribute__((constructor)) static void register_all() {
  for (void (*group)() : {register_normalize, register_characters, register_regex_split,
                          register_wordpiece, register_split_merge, register_sentencepiece,
                          register_constrained_sequence, register_rouge,
                          register_sentence_fragments, register_spanning_tree}) {
    TF_Status* status = TF_NewStatus();
    guard(status, [] { return std::string("text_plugin"); }, [&] { group(); });
    if (TF_GetCode(status) != TF_OK) std::fprintf(stderr, "%s\n", TF_Message(status));
    TF_DeleteStatus(status);
  }
}

}  // namespace text
