// Nodes that work for minutes, each of a size that is fed. A step's deadline and the closing of its
// session must reach a kernel while it runs. The bound on the time is generous, and far below what
// any of the nodes takes when it is left alone. Where that would need too much memory, a run is
// compared with one of the same node that has no deadline.
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "capi/function_kit.h"

#define MOST_SECONDS 30
#define TIMEOUT_MS 100
#define TRIES 20

#define F32 TYPE("T", "FLOAT")
#define I32 TYPE("T", "INT32")
#define MANY(n) " attr { key: 'N' value { i: " n " } }"
#define INT(key, value) " attr { key: '" key "' value { i: " value " } }"
#define PAIR(name, a, b)                                                           \
  NODE(name, "Const", ,                                                            \
       TYPE("dtype", "INT32")                                                      \
       " attr { key: 'value' value { tensor { dtype: DT_INT32 "                    \
       "tensor_shape { dim { size: 2 } } int_val: [" a ", " b "] } } }")
#define FLOATS(name, sizes) NODE(name, "Fill", IN(sizes) IN("small"), F32)
#define RANDOM(name, op, sizes) NODE(name, op, IN(sizes), I32 TYPE("dtype", "FLOAT"))

// "x" is the count.
static const char kGraph[] =
    NODE("x", "Placeholder", , TYPE("dtype", "INT32"))
    NODE("zero", "Const", , INT32("0")) NODE("one", "Const", , INT32("1"))
    NODE("small", "Const", , FLOAT("0.001"))
    NODE("sizes", "Pack", IN("x"), I32 MANY("1"))
    NODE("square_sizes", "Pack", IN("x") IN("x"), I32 MANY("2"))
    NODE("boxes_sizes", "Pack", IN("x") IN("four"), I32 MANY("2"))
    NODE("four", "Const", , INT32("4")) PAIR("row_of_five", "1", "5")
    FLOATS("line", "sizes") FLOATS("square", "square_sizes") FLOATS("logits", "row_of_five")
    RANDOM("noise", "RandomUniform", "square_sizes") RANDOM("scores", "RandomUniform", "sizes")
    RANDOM("boxes", "RandomUniform", "boxes_sizes")
    FLOATS("fill", "sizes")
    NODE("range", "Range", IN("zero") IN("x") IN("one"), TYPE("Tidx", "INT32"))
    NODE("tile", "Tile", IN("logits") IN("square_sizes"), F32)
    NODE("linspace", "LinSpace", IN("small") IN("small") IN("x"), F32)
    RANDOM("uniform", "RandomUniform", "sizes") RANDOM("normal", "RandomStandardNormal", "sizes")
    RANDOM("truncated", "TruncatedNormal", "sizes")
    NODE("gamma", "RandomGamma", IN("sizes") IN("small"), TYPE("S", "INT32") F32)
    NODE("poisson", "RandomPoissonV2", IN("sizes") IN("small"), TYPE("S", "INT32")
         TYPE("R", "FLOAT"))
    NODE("multinomial", "Multinomial", IN("logits") IN("x"), F32)
    NODE("shuffle", "RandomShuffle", IN("line"), F32)
    NODE("exp", "Exp", IN("square"), F32)
    NODE("outer", "AddV2", IN("column") IN("line"), F32)
    NODE("column", "ExpandDims", IN("line") IN("one"), F32)
    NODE("igamma", "Igamma", IN("column") IN("line"), F32)
    NODE("sum", "Sum", IN("noise") IN("zero"), F32)
    NODE("cumsum", "Cumsum", IN("noise") IN("zero"), F32)
    NODE("top", "TopKV2", IN("scores") IN("x"), F32)
    NODE("where", "Where", IN("scores"), F32)
    NODE("matmul", "MatMul", IN("square") IN("square"), F32)
    NODE("einsum", "Einsum", IN("square") IN("square"),
         MANY("2") F32 " attr { key: 'equation' value { s: 'ij,jk->ik' } }")
    NODE("inverse", "MatrixInverse", IN("noise"), F32)
    NODE("determinant", "MatrixDeterminant", IN("noise"), F32)
    NODE("svd", "Svd", IN("noise"), F32)
    NODE("eigen", "SelfAdjointEigV2", IN("noise"), F32)
    NODE("qr", "Qr", IN("noise"), F32)
    NODE("solve", "MatrixSolve", IN("noise") IN("noise"), F32)
    NODE("band_solve", "MatrixTriangularSolve", IN("noise") IN("noise"), F32)
    NODE("lu", "Lu", IN("noise"), F32)
    NODE("exponential", "MatrixExponential", IN("noise"), F32)
    NODE("suppression", "NonMaxSuppressionV3", IN("boxes") IN("scores") IN("x") IN("one_float")
         IN("zero_float"), F32)
    NODE("one_float", "Const", , FLOAT("1")) NODE("zero_float", "Const", , FLOAT("0"));

#define SCALAR(name, value) NODE(name, "Const", , INT32(value))
#define STRING_ATTR(key, value) " attr { key: '" key "' value { s: '" value "' } }"
#define TEXT(name, value)                                                                     \
  NODE(name, "Const", , TYPE("dtype", "STRING")                                               \
       " attr { key: 'value' value { tensor { dtype: DT_STRING tensor_shape {} string_val: '" \
       value "' } } }")
#define I64 TYPE("T", "INT64")
#define WIDE(name, x) NODE(name, "Cast", IN(x), TYPE("SrcT", "INT32") TYPE("DstT", "INT64"))
#define INTS(key, ...) " attr { key: '" key "' value { list { i: [" __VA_ARGS__ "] } } }"
#define FLAG(key, value) " attr { key: '" key "' value { b: " value " } }"
#define SHAPE_OF(name, count, ...) NODE(name, "Pack", __VA_ARGS__, I32 MANY(count))

// Loops on one thread, whose length the values decide. "x" is the count here too.
static const char kLoops[] =
    NODE("x", "Placeholder", , TYPE("dtype", "INT32"))
    SCALAR("zero", "0") SCALAR("one", "1") SCALAR("two", "2") SCALAR("three", "3")
    WIDE("zero64", "zero") WIDE("one64", "one") WIDE("x64", "x")
    NODE("small", "Const", , FLOAT("0.001")) NODE("half", "Const", , FLOAT("0.5"))
    NODE("minus", "Const", , FLOAT("-1")) NODE("unit", "Const", , FLOAT("1"))
    SHAPE_OF("sizes", "1", IN("x")) SHAPE_OF("image", "4", IN("one") IN("x") IN("x") IN("one"))
    FLOATS("line", "sizes") FLOATS("picture", "image")
    NODE("zeros", "Fill", IN("sizes") IN("zero"), I32)
    NODE("range", "Range", IN("zero") IN("x") IN("one"), TYPE("Tidx", "INT32"))
    WIDE("zeros64", "zeros") WIDE("range64", "range")
    NODE("pairs", "Pack", IN("zeros64") IN("range64"), I64 MANY("2") INT("axis", "1"))
    NODE("row_shape", "Pack", IN("one64") IN("x64"), I64 MANY("2"))
    // RandomIndexShuffle walks through 2^16 numbers for each of two.
    SHAPE_OF("seed", "3", IN("one") IN("two") IN("three"))
    NODE("index_shuffle", "RandomIndexShuffle", IN("zeros") IN("seed") IN("one"),
         TYPE("dtype", "INT32") TYPE("Tseed", "INT32"))
    NODE("edit_distance", "EditDistance", IN("pairs") IN("line") IN("row_shape") IN("pairs")
         IN("line") IN("row_shape"), F32)
    SCALAR("classes", "2000") SHAPE_OF("beam_sizes", "3", IN("x") IN("one") IN("classes"))
    RANDOM("beam_scores", "RandomUniform", "beam_sizes")
    NODE("beam", "CTCBeamSearchDecoder", IN("beam_scores") IN("sizes"),
         F32 INT("beam_width", "100000") INT("top_paths", "1"))
    NODE("times", "AddV2", IN("x") IN("x"), I32) SHAPE_OF("times_sizes", "1", IN("times"))
    SHAPE_OF("loss_sizes", "3", IN("times") IN("one") IN("three"))
    FLOATS("loss_scores", "loss_sizes")
    NODE("ctc_loss", "CTCLoss", IN("loss_scores") IN("pairs") IN("zeros") IN("times_sizes"),
         F32 FLAG("ctc_merge_repeated", "false"))
    NODE("class", "Pack", IN("zero64"), I64 MANY("1"))
    NODE("true_class", "Pack", IN("class"), I64 MANY("1"))
    NODE("sampler", "LogUniformCandidateSampler", IN("true_class"), INT("num_true", "1")
         INT("num_sampled", "3000000") INT("range_max", "3000000") FLAG("unique", "true"))
    NODE("box_line", "Pack", IN("small") IN("small") IN("unit") IN("unit"), F32 MANY("4"))
    NODE("box", "Pack", IN("box_line"), F32 MANY("1")) SHAPE_OF("box_place", "1", IN("zero"))
    SHAPE_OF("small_image", "4", IN("one") IN("two") IN("two") IN("one"))
    NODE("crop_gradient", "CropAndResizeGradImage", IN("picture") IN("box") IN("box_place")
         IN("small_image"), F32)
    NODE("bounded", "ParameterizedTruncatedNormal", IN("sizes") IN("half") IN("unit") IN("minus")
         IN("unit"), I32 TYPE("dtype", "FLOAT"))
    NODE("ragged_range", "RaggedRange", IN("zero") IN("x") IN("one"), I32)
    NODE("entries", "Pack", IN("zeros64") IN("zeros64"), I64 MANY("2") INT("axis", "1"))
    NODE("one_shape", "Pack", IN("one64") IN("one64"), I64 MANY("2"))
    SCALAR("many", "100000") SHAPE_OF("wide_sizes", "2", IN("one") IN("many"))
    FLOATS("wide_row", "wide_sizes")
    NODE("sparse_product", "SparseTensorDenseMatMul", IN("entries") IN("line") IN("one_shape")
         IN("wide_row"), F32)
    NODE("features", "ExpandDims", IN("range64") IN("zero"), I64)
    NODE("cross", "SparseCross", IN("features") IN("features"), INT("N", "0")
         FLAG("hashed_output", "true") INT("num_buckets", "0") INT("hash_key", "1")
         TYPES("sparse_types", "") TYPES("dense_types", "DT_INT64, DT_INT64")
         TYPE("out_type", "INT64") TYPE("internal_type", "INT64"))
    TEXT("letter", "a") NODE("letters", "Fill", IN("sizes") IN("letter"), TYPE("T", "STRING"))
    SHAPE_OF("splits", "2", IN("zero") IN("x"))
    NODE("ngrams", "StringNGrams", IN("letters") IN("splits"), STRING_ATTR("separator", "")
         INTS("ngram_widths", "3000") STRING_ATTR("left_pad", "") STRING_ATTR("right_pad", "")
         INT("pad_width", "0") FLAG("preserve_short_sequences", "false")
         TYPE("Tsplits", "INT32"))
    SCALAR("rate", "16000") SHAPE_OF("spectra", "3", IN("one") IN("x") IN("three"))
    FLOATS("spectrum", "spectra")
    NODE("mfcc", "Mfcc", IN("spectrum") IN("rate"), INT("filterbank_channel_count", "2000")
         INT("dct_coefficient_count", "2000"))
    SHAPE_OF("filter_sizes", "3", IN("x") IN("x") IN("one")) FLOATS("filter", "filter_sizes")
    NODE("dilation", "Dilation2DBackpropFilter", IN("picture") IN("filter") IN("picture"),
         F32 INTS("strides", "1, 1, 1, 1") INTS("rates", "1, 1, 1, 1")
         STRING_ATTR("padding", "SAME"))
#define WINDOW INTS("ksize", "1, 1, 1000000, 1") INTS("strides", "1, 1, 1, 1") \
  STRING_ATTR("padding", "SAME")
    SHAPE_OF("strip_sizes", "4", IN("one") IN("one") IN("x") IN("one"))
    FLOATS("strip", "strip_sizes")
    NODE("max_pool", "MaxPool", IN("strip"), F32 WINDOW)
    NODE("max_pool_gradient", "MaxPoolGrad", IN("strip") IN("strip") IN("strip"), F32 WINDOW)
    NODE("avg_pool", "AvgPool", IN("strip"), F32 WINDOW)
    NODE("avg_pool_gradient", "AvgPoolGrad", IN("strip_sizes") IN("strip"), F32 WINDOW)
    SCALAR("height", "200") SCALAR("width", "20000") SCALAR("four", "4")
    SHAPE_OF("canvas_sizes", "4", IN("one") IN("height") IN("width") IN("one"))
    FLOATS("canvas", "canvas_sizes") SHAPE_OF("boxes_sizes", "3", IN("one") IN("x") IN("four"))
    RANDOM("boxes", "RandomUniform", "boxes_sizes")
    NODE("drawing", "DrawBoundingBoxes", IN("canvas") IN("boxes"), F32)
#define LONG_TEXT "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
    TEXT("text", LONG_TEXT) NODE("texts", "Fill", IN("sizes") IN("text"), TYPE("T", "STRING"))
    TEXT("separator", "qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq")
    NODE("string_split", "StringSplit", IN("texts") IN("separator"), )
    NODE("long_text", "ReduceJoin", IN("letters") IN("zero"), )
#define MANY_WAYS "(a?){1000}(a?){1000}(a?){1000}b"
    NODE("full_match", "StaticRegexFullMatch", IN("long_text"), STRING_ATTR("pattern", MANY_WAYS))
    NODE("replace", "StaticRegexReplace", IN("long_text"), STRING_ATTR("pattern", MANY_WAYS)
         STRING_ATTR("rewrite", "-"));

typedef struct case_s {
  const char* name;
  int32_t count;
} case_t;

static const case_t kCases[] = {
    {"fill", 2000000000}, {"range", 2000000000}, {"tile", 20000}, {"linspace", 2000000000},
    {"uniform", 2000000000}, {"normal", 2000000000}, {"truncated", 2000000000},
    {"gamma", 2000000000}, {"poisson", 2000000000}, {"multinomial", 2000000000},
    {"shuffle", 100000000}, {"exp", 40000}, {"outer", 40000}, {"igamma", 40000}, {"sum", 20000},
    {"cumsum", 20000}, {"top", 20000000}, {"where", 100000000}, {"matmul", 6000}, {"einsum", 6000},
    {"inverse", 3000}, {"determinant", 5000}, {"svd", 1500}, {"eigen", 1500}, {"qr", 2000},
    {"solve", 4000}, {"band_solve", 6000}, {"lu", 4000}, {"exponential", 1000},
    {"suppression", 100000},
};

static double seconds_since(int64_t start_ns) {
  return (double)(leat_clock_now_ns() - start_ns) / 1e9;
}

static void expect_deadlines(const char* graph, const case_t* cases, size_t count) {
  functions_t f = functions_open(graph);
  for (size_t i = 0; i < count; ++i) {
    int64_t start_ns = leat_clock_now_ns();
    TF_Code code = functions_try(&f, cases[i].name, kit_int32(cases[i].count), TIMEOUT_MS);
    double seconds = seconds_since(start_ns);
    if (code == TF_DEADLINE_EXCEEDED && seconds < MOST_SECONDS) continue;
    fail_msg("%s: code %d (%s) after %.1f s", cases[i].name, code, TF_Message(f.status), seconds);
  }
  functions_close(&f);
}

static void test_deadline(void** state) {
  expect_deadlines(kGraph, kCases, sizeof kCases / sizeof *kCases);
}

static void test_deadline_of_a_loop(void** state) {
  static const case_t kAlone[] = {
      {"index_shuffle", 1000000}, {"edit_distance", 200000}, {"beam", 200}, {"sampler", 1},
      {"bounded", 2000000000}, {"sparse_product", 300000}, {"mfcc", 20000}, {"dilation", 400},
      {"max_pool", 1000000}, {"max_pool_gradient", 1000000}, {"avg_pool", 1000000},
      {"avg_pool_gradient", 1000000}, {"drawing", 500000}, {"full_match", 2000000},
      {"replace", 2000000},
  };
  expect_deadlines(kLoops, kAlone, sizeof kAlone / sizeof *kAlone);
}

// Runs a node without a deadline, then with a quarter of the time that it took; true when that
// ended it well before its end.
static bool ends_early(functions_t* f, const case_t* c, char* out_text, size_t size) {
  int64_t start_ns = leat_clock_now_ns();
  assert_int_equal(functions_try(f, c->name, kit_int32(c->count), 0), TF_OK);
  double whole = seconds_since(start_ns);
  start_ns = leat_clock_now_ns();
  TF_Code code = functions_try(f, c->name, kit_int32(c->count), (int)(whole * 250) + 1);
  double seconds = seconds_since(start_ns);
  snprintf(out_text, size, "code %d (%s) after %.3f of %.3f s", code, TF_Message(f->status),
           seconds, whole);
  return code == TF_DEADLINE_EXCEEDED && seconds < 0.7 * whole;
}

// The first run waits for fresh memory, so it does not count. The machine may be busy, so each has
// a few tries.
static void test_a_quarter_of_the_time(void** state) {
  static const case_t kQuarters[] = {{"ctc_loss", 2000},          {"crop_gradient", 4000},
                                     {"ragged_range", 100000000}, {"cross", 3000},
                                     {"ngrams", 10000},           {"string_split", 500000}};
  functions_t f = functions_open(kLoops);
  for (size_t i = 0; i < sizeof kQuarters / sizeof *kQuarters; ++i) {
    char text[300];
    bool ok = false;
    assert_int_equal(
        functions_try(&f, kQuarters[i].name, kit_int32(kQuarters[i].count), 0), TF_OK);
    for (int tries = 0; tries < TRIES && !ok; ++tries) {
      ok = ends_early(&f, &kQuarters[i], text, sizeof text);
    }
    if (!ok) fail_msg("%s: %s", kQuarters[i].name, text);
  }
  functions_close(&f);
}

// The timeout that a session has for steps that state none: ConfigProto.operation_timeout_in_ms.
static void test_timeout_of_session(void** state) {
  functions_t f = functions_open(kGraph);
  TF_SessionOptions* options = TF_NewSessionOptions();
  const char config[] = {0x58, TIMEOUT_MS};
  TF_SetConfig(options, config, sizeof config, f.status);
  kit_ok(f.status);
  kit_close(f.session);
  f.session = TF_NewSession(f.graph, options, f.status);
  kit_ok(f.status);
  int64_t start_ns = leat_clock_now_ns();
  assert_int_equal(functions_try(&f, "multinomial", kit_int32(2000000000), 0),
                   TF_DEADLINE_EXCEEDED);
  assert_true(seconds_since(start_ns) < MOST_SECONDS);
  TF_DeleteSessionOptions(options);
  functions_close(&f);
}

static void* close_soon(void* session) {
  TF_Status* status = TF_NewStatus();
  usleep(TIMEOUT_MS * 1000);
  TF_CloseSession(session, status);
  kit_ok(status);
  TF_DeleteStatus(status);
  return NULL;
}

static void test_close(void** state) {
  static const case_t kinds[] = {{"multinomial", 2000000000}, {"svd", 1500},
                                 {"matmul", 6000},            {"inverse", 2500}};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; ++i) {
    TF_Code code = TF_OK;
    // A kernel may have ended before a busy machine lets the other thread close the session.
    for (int tries = 0; tries < TRIES && code == TF_OK; ++tries) {
      functions_t f = functions_open(kGraph);
      pthread_t closer;
      int64_t start_ns = leat_clock_now_ns();
      assert_int_equal(pthread_create(&closer, NULL, close_soon, f.session), 0);
      code = functions_try(&f, kinds[i].name, kit_int32(kinds[i].count), 0);
      assert_true(seconds_since(start_ns) < MOST_SECONDS);
      pthread_join(closer, NULL);
      functions_close(&f);
    }
    assert_int_equal(code, TF_CANCELLED);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_deadline),
      cmocka_unit_test(test_deadline_of_a_loop),
      cmocka_unit_test(test_a_quarter_of_the_time),
      cmocka_unit_test(test_timeout_of_session),
      cmocka_unit_test(test_close),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
