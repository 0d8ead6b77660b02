// The ops of the plug-in of examples/plugins/text that use what another op has made: SentencePiece,
// whose model the test writes field by field, and Wordpiece, whose vocabulary is a lookup table.
// Several ops run in one session, so that they see the same handle.
#include <stdio.h>

#include "capi/text_kit.h"
#include "tensorflow/c/tf_tstring.h"

// ---- SentencePiece ------------------------------------------------------------------------------

// A ModelProto in the making.
typedef struct model_t {
  char bytes[2000];
  size_t size;
} model_t;

static void append(model_t* model, const void* bytes, size_t size) {
  assert_true(model->size + size <= sizeof model->bytes);
  memcpy(model->bytes + model->size, bytes, size);
  model->size += size;
}

// A piece {piece: |text|, score: |score|, type: |type|}: field 1 of the model.
static void append_piece(model_t* model, const char* text, float score, char type) {
  const char length = (char)strlen(text);
  const char head[] = {0x0a, (char)(length + 9), 0x0a, length};
  const char kind[] = {0x18, type};
  append(model, head, sizeof head);
  append(model, text, (size_t)length);
  append(model, "\x15", 1);
  append(model, &score, sizeof score);
  append(model, kind, sizeof kind);
}

// A unigram model: 0 <unk>, 1 <s>, 2 </s>, then pieces with scores.
static void make_model(model_t* model) {
  static const struct {
    const char* text;
    float score;
  } kPieces[] = {{"\u2581hello", -1}, {"\u2581", -2}, {"lo", -2.5f}, {"hel", -3}, {"h", -8},
                 {"e", -8}, {"l", -8}, {"o", -8}};
  model->size = 0;
  append_piece(model, "<unk>", 0, 2);
  append_piece(model, "<s>", 0, 3);
  append_piece(model, "</s>", 0, 3);
  for (size_t i = 0; i < sizeof kPieces / sizeof *kPieces; ++i) {
    append_piece(model, kPieces[i].text, kPieces[i].score, 1);
  }
  // trainer_spec {model_type: UNIGRAM}, normalizer_spec {name: "identity", and all its switches on}
  append(model, "\x12\x02\x18\x01", 4);
  append(model, "\x1a\x10\x0a\x08identity\x18\x01\x20\x01\x28\x01", 18);
}

static TF_Operation* add_model(TF_Graph* graph, const model_t* model) {
  TF_OperationDescription* desc = TF_NewOperation(graph, "SentencepieceOp", "model");
  TF_SetAttrString(desc, "model", model->bytes, model->size);
  return kit_finish(desc);
}

static void check_model(const model_t* model, const text_case_t* cases, size_t count) {
  text_load();
  TF_Status* s = TF_NewStatus();
  TF_Graph* graph = TF_NewGraph();
  TF_Operation *handle = add_model(graph, model), *nodes[64];
  assert_true(count <= 64);
  for (size_t i = 0; i < count; ++i) {
    char name[32];
    snprintf(name, sizeof name, "node%zu", i);
    nodes[i] = text_add(graph, name, &cases[i], handle, NULL, s);
    kit_ok(s);
  }
  TF_Session* session = kit_session(graph);
  for (size_t i = 0; i < count; ++i) text_run(session, nodes[i], &cases[i]);
  kit_close(session);
  TF_DeleteGraph(graph);
  TF_DeleteStatus(s);
}

static void test_sentencepiece(void** state) {
#define PLAIN " I0 F1 B0 B0 B0"
  static const text_case_t kCases[] = {
      {"SentencepieceTokenizeOp", "@ shello,helo,,x" PLAIN, "", "3,4,6,10,4,0 | 0,1,4,4,6", TF_OK},
      {"SentencepieceTokenizeOp", "@ shello,helo" PLAIN, "out_type=Tstring Tsplits=Tint32",
       "\u2581hello,\u2581,hel,o | 0,1,4", TF_OK},
      {"SentencepieceTokenizeOp", "@ shello I0 F1 B1 B1 B0", "", "1,3,2 | 0,3", TF_OK},
      {"SentencepieceTokenizeOp", "@ shello I0 F1 B1 B1 B1", "", "2,3,1 | 0,3", TF_OK},
      {"SentencepieceTokenizeOp", "@ shello I2 F1 B0 B0 B0", "return_nbest=B1",
       "3,4,6,5 | 0,1,4", TF_OK},
      {"SentencepieceTokenizeOp", "@ shello I0 F1 B0 B0 B0", "return_nbest=B1",
       "nbest_size is 0, must be at least 1", TF_INVALID_ARGUMENT},
      {"SentencepieceTokenizeWithOffsetsOp", "@ shelo" PLAIN, "",
       "4,6,10 | 0,3 | 0,0,3 | 0,3,4", TF_OK},
      {"SentencepieceDetokenizeOp", "@ i3,4,6,5 l0,1,4 B0 B0 B0", "", "hello,hello", TF_OK},
      {"SentencepieceDetokenizeOp", "@ s\u2581hello,lo i0,2 B0 B0 B0", "", "hellolo", TF_OK},
      {"SentencepieceDetokenizeOp", "@ i3 l0,2 B0 B0 B0", "",
       "input_splits ends with 2, must end with 1", TF_INVALID_ARGUMENT},
      {"SentencepieceDetokenizeOp", "@ i11 l0,1 B0 B0 B0", "",
       "SentencepieceDetokenizeOp failed for node 'node10': input_values[0] is 11, must be at "
       "least 0 and below 11", TF_OUT_OF_RANGE},
      {"SentencepieceVocabSizeOp", "@", "", "11", TF_OK},
      {"SentencepieceIdToStringOp", "@ i0,5", "", "<unk>,lo", TF_OK},
      {"SentencepieceIdToStringOp", "@ i-1", "", "input[0] is -1", TF_OUT_OF_RANGE},
      {"SentencepieceStringToIdOp", "@ slo,none", "", "5,0", TF_OK},
  };
  model_t model;
  make_model(&model);
  check_model(&model, kCases, sizeof kCases / sizeof *kCases);
}

static void test_no_model(void** state) {
  static const text_case_t kEmpty = {"SentencepieceVocabSizeOp", "@", "",
                                     "model is empty, must be the bytes of a SentencePiece model",
                                     TF_INVALID_ARGUMENT};
  static const text_case_t kOther = {"SentencepieceVocabSizeOp", "@", "",
                                     "model has 3 bytes that are no SentencePiece model",
                                     TF_INVALID_ARGUMENT};
  check_model(&(model_t){.size = 0}, &kEmpty, 1);
  check_model(&(model_t){"abc", 3}, &kOther, 1);
}

// ---- Handles of others --------------------------------------------------------------------------

static TF_Operation* add_table(TF_Graph* graph, TF_DataType value_type) {
  TF_OperationDescription* desc = TF_NewOperation(graph, "HashTableV2", "table");
  TF_SetAttrType(desc, "key_dtype", TF_STRING);
  TF_SetAttrType(desc, "value_dtype", value_type);
  return kit_finish(desc);
}

// A model is there, but the handle is a table's.
static void test_other_handle(void** state) {
  static const text_case_t kGood = {"SentencepieceVocabSizeOp", "@", "", "11", TF_OK};
  static const text_case_t kBad = {"SentencepieceVocabSizeOp", "@", "",
                                   "must be one that SentencepieceOp gave", TF_NOT_FOUND};
  text_load();
  model_t model;
  make_model(&model);
  TF_Status* s = TF_NewStatus();
  TF_Graph* graph = TF_NewGraph();
  TF_Operation* good = text_add(graph, "good", &kGood, add_model(graph, &model), NULL, s);
  kit_ok(s);
  TF_Operation* bad = text_add(graph, "bad", &kBad, add_table(graph, TF_INT64), NULL, s);
  kit_ok(s);
  TF_Session* session = kit_session(graph);
  text_run(session, good, &kGood);
  text_run(session, bad, &kBad);
  kit_close(session);
  TF_DeleteGraph(graph);
  TF_DeleteStatus(s);
}

// ---- Wordpiece ----------------------------------------------------------------------------------

#define MARK "suffix_indicator=S## max_bytes_per_word=I20 unknown_token=S[UNK] "

static void check_wordpiece(const text_case_t* c) {
  static const text_case_t kFill = {
      "LookupTableImportV2", "@ sun,##aff,##able,a,##b,\u4f60,longlonglonglong "
      "l0,1,2,3,4,5,6", "", "", TF_OK};
  text_load();
  TF_Status* s = TF_NewStatus();
  TF_Graph* graph = TF_NewGraph();
  TF_Operation* table = add_table(graph, TF_INT64);
  TF_Operation* fill = text_add(graph, "fill", &kFill, table, NULL, s);
  kit_ok(s);
  TF_Operation* node = text_add(graph, "node", c, table, fill, s);
  kit_ok(s);
  TF_Session* session = kit_session(graph);
  text_run(session, node, c);
  kit_close(session);
  TF_DeleteGraph(graph);
  TF_DeleteStatus(s);
}

static void test_wordpiece(void** state) {
  static const text_case_t kCases[] = {
      {"WordpieceTokenizeWithOffsets", "sunaffable,ab,xab,\u4f60b, @", MARK "use_unknown_token=B1",
       "un,##aff,##able,a,##b,[UNK],\u4f60,##b | 3,2,1,2,0 | 0,2,5,0,1,0,0,3 | 2,5,9,1,2,3,3,4",
       TF_OK},
      {"WordpieceTokenizeWithOffsets", "saxb @",
       MARK "use_unknown_token=B1 split_unknown_characters=B1",
       "a,##[UNK],##b | 3 | 0,1,2 | 1,2,3", TF_OK},
      {"WordpieceTokenizeWithOffsets", "saxb,ab @",
       MARK "use_unknown_token=B0 output_row_partition_type=Srow_splits",
       "axb,a,##b | 0,1,3 | 0,0,1 | 3,1,2", TF_OK},
      {"WordpieceTokenizeWithOffsets", "sunaffable @",
       MARK "use_unknown_token=B1 max_chars_per_token=I3", "[UNK] | 1 | 0 | 9", TF_OK},
      {"WordpieceTokenizeWithOffsets", "saaaaaaaaaaaaaaaaaaaaaa @", MARK "use_unknown_token=B1",
       "[UNK] | 1 | 0 | 5", TF_OK},
      // More candidates than are asked for at once, of which the last one is found.
      {"WordpieceTokenizeWithOffsets", "sabbbbbbbbbbbbbbbb @", MARK "use_unknown_token=B1",
       "a,##b,##b,##b,##b,##b,##b,##b,##b,##b,##b,##b,##b,##b,##b,##b,##b | 17 | "
       "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16 | 1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17",
       TF_OK},
      {"WordpieceTokenizeWithOffsets", "slonglonglonglongb,aqqqqqqqqqqqqqqqqqqb @",
       MARK "use_unknown_token=B0",
       "longlonglonglong,##b,aqqqqqqqqqqqqqqqqqqb | 2,1 | 0,16,0 | 16,17,20", TF_OK},
  };
  for (size_t i = 0; i < sizeof kCases / sizeof *kCases; ++i) check_wordpiece(&kCases[i]);
}

// A table of other values, and one that was not filled.
static void test_wordpiece_tables(void** state) {
  static const text_case_t kCases[] = {
      {"WordpieceTokenizeWithOffsets", "sa @", MARK "use_unknown_token=B1",
       "WordpieceTokenizeWithOffsets failed for node 'node'", TF_INVALID_ARGUMENT},
      {"WordpieceTokenizeWithOffsets", "sa @", MARK "use_unknown_token=B1",
       "WordpieceTokenizeWithOffsets failed for node 'node'", TF_FAILED_PRECONDITION},
  };
  text_load();
  for (int i = 0; i < 2; ++i) {
    TF_Status* s = TF_NewStatus();
    TF_Graph* graph = TF_NewGraph();
    TF_Operation* table = add_table(graph, i == 0 ? TF_FLOAT : TF_INT64);
    TF_Operation* node = text_add(graph, "node", &kCases[i], table, NULL, s);
    kit_ok(s);
    TF_Session* session = kit_session(graph);
    text_run(session, node, &kCases[i]);
    kit_close(session);
    TF_DeleteGraph(graph);
    TF_DeleteStatus(s);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_sentencepiece), cmocka_unit_test(test_no_model),
      cmocka_unit_test(test_other_handle),  cmocka_unit_test(test_wordpiece),
      cmocka_unit_test(test_wordpiece_tables),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
