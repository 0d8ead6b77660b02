// Files and strings as input ops take them. The first byte chooses a reader, which reads the rest
// as a file to its end, or the node of a decoder, which gets the rest as a string. All readers and
// decoders are nodes of one graph that is imported once; each input gets a session of its own,
// because readers keep a state. The file is memory with a path (memfd_create), which a reader opens
// like any other. Reads are limited in number, because a reader of empty records never comes to an
// end, and allocations in size.
#define _GNU_SOURCE  // memfd_create
#include <sys/mman.h>
#include <unistd.h>

#include <stdio.h>
#include <string.h>

#include "leat/inspect.h"
#include "memory_limit.h"
#include "tensorflow/c/c_api.h"

enum { kMostBytes = 1 << 26, kMostReads = 64 };

// ---- The graph ----------------------------------------------------------------------------------

#define IN(name) " input: '" name "'"
#define INT(key, value) " attr { key: '" key "' value { i: " value " } }"
#define TEXT(key, value) " attr { key: '" key "' value { s: '" value "' } }"
#define TYPE(key, dtype) " attr { key: '" key "' value { type: DT_" dtype " } }"
#define TYPES(key, dtypes) " attr { key: '" key "' value { list { type: [" dtypes "] } } }"
#define NODE(name, op, inputs, attrs) "node { name: '" name "' op: '" op "'" inputs attrs " }\n"
#define CONST(name, dtype, field, value)                                              \
  NODE(name, "Const", "", TYPE("dtype", dtype) " attr { key: 'value' value { tensor { " \
       "dtype: DT_" dtype " tensor_shape {} " field ": " value " } } }")
#define READER(name, op, attrs)                                      \
  NODE(name, op, "", attrs)                                          \
  NODE(name "/many", "ReaderReadUpToV2", IN(name) IN("work") IN("some"), "") \
  NODE(name "/one", "ReaderReadV2", IN(name) IN("work"), "")         \
  NODE(name "/state", "ReaderSerializeStateV2", IN(name), "")        \
  NODE(name "/restore", "ReaderRestoreStateV2", IN(name) IN("x"), "")
#define FIXED INT("header_bytes", "3") INT("record_bytes", "5") INT("footer_bytes", "2")

static const char kGraph[] =
    NODE("x", "Placeholder", "", TYPE("dtype", "STRING"))
    NODE("work", "FIFOQueueV2", "", TYPES("component_types", "DT_STRING"))
    NODE("put", "QueueEnqueueV2", IN("work") IN("x"), TYPES("Tcomponents", "DT_STRING"))
    NODE("close", "QueueCloseV2", IN("work"), "")
    CONST("some", "INT64", "int64_val", "7")
    READER("records", "TFRecordReaderV2", "")
    READER("zlib", "TFRecordReaderV2", TEXT("compression_type", "ZLIB"))
    READER("gzip", "TFRecordReaderV2", TEXT("compression_type", "GZIP"))
    READER("lines", "TextLineReaderV2", INT("skip_header_lines", "1"))
    READER("fixed", "FixedLengthRecordReaderV2", FIXED)
    READER("hops", "FixedLengthRecordReaderV2",
           FIXED INT("hop_bytes", "1") TEXT("encoding", "ZLIB"))
    READER("file", "WholeFileReaderV2", "")
    READER("itself", "IdentityReaderV2", "")
    CONST("f", "FLOAT", "float_val", "1") CONST("d", "DOUBLE", "double_val", "1")
    CONST("i", "INT32", "int_val", "1") CONST("l", "INT64", "int64_val", "1")
    CONST("s", "STRING", "string_val", "'a'") CONST("length", "INT32", "int_val", "12")
    NODE("csv", "DecodeCSV", IN("x") IN("f") IN("d") IN("i") IN("l") IN("s"),
         TYPES("OUT_TYPE", "DT_FLOAT, DT_DOUBLE, DT_INT32, DT_INT64, DT_STRING"))
    NODE("columns", "DecodeCSV", IN("x") IN("s") IN("f"), TYPES("OUT_TYPE", "DT_STRING, DT_FLOAT")
         TEXT("field_delim", ";") TEXT("na_value", "na")
         " attr { key: 'use_quote_delim' value { b: false } }"
         " attr { key: 'select_cols' value { list { i: [1, 3] } } }")
    NODE("raw", "DecodeRaw", IN("x"), TYPE("out_type", "INT16")
         " attr { key: 'little_endian' value { b: false } }")
    NODE("complex", "DecodeRaw", IN("x"), TYPE("out_type", "COMPLEX128"))
    NODE("padded", "DecodePaddedRaw", IN("x") IN("length"), TYPE("out_type", "INT32"))
    NODE("inflated", "DecodeCompressed", IN("x"), TEXT("compression_type", "ZLIB"))
    NODE("gunzipped", "DecodeCompressed", IN("x"), TEXT("compression_type", "GZIP"))
    NODE("tensor", "ParseTensor", IN("x"), TYPE("out_type", "FLOAT"))
    NODE("strings", "ParseTensor", IN("x"), TYPE("out_type", "STRING"))
    NODE("json", "DecodeJSONExample", IN("x"), "")
    NODE("number", "StringToNumber", IN("x"), TYPE("out_type", "DOUBLE"))
    NODE("sound", "DecodeWav", IN("x"), "");

static const char* const kReaders[] = {"records", "zlib", "gzip", "lines",
                                       "fixed",   "hops", "file", "itself"};
static const char* const kDecoders[] = {"csv",     "columns",  "raw",       "complex",
                                        "padded",  "inflated", "gunzipped", "tensor",
                                        "strings", "json",     "number",    "sound"};
enum {
  kReaderCount = sizeof kReaders / sizeof *kReaders,
  kDecoderCount = sizeof kDecoders / sizeof *kDecoders,
};

static TF_Graph* make_graph(TF_Status* status) {
  TF_Graph* graph = TF_NewGraph();
  TF_ImportGraphDefOptions* options = TF_NewImportGraphDefOptions();
  TF_Buffer text = {kGraph, sizeof kGraph - 1, NULL};
  TF_Buffer* bytes = leat_message_from_text("GraphDef", &text, status);
  if (bytes) TF_GraphImportGraphDef(graph, bytes, options, status);
  if (TF_GetCode(status) != TF_OK) {
    fprintf(stderr, "input_fuzz: the graph: %s\n", TF_Message(status));
    _Exit(2);
  }
  TF_DeleteBuffer(bytes);
  TF_DeleteImportGraphDefOptions(options);
  return graph;
}

// ---- Steps --------------------------------------------------------------------------------------

typedef struct input_s {
  TF_Graph* graph;
  TF_Session* session;
  TF_Status* status;
} input_t;

// Runs <name><part> with the string as x; whether it could.
static bool run(const input_t* input, const char* name, const char* part, const char* data,
                size_t size) {
  char full[40];
  snprintf(full, sizeof full, "%s%s", name, part);
  const TF_Operation* target = TF_GraphOperationByName(input->graph, full);
  TF_Output x = {TF_GraphOperationByName(input->graph, "x"), 0};
  TF_Output fetch = {(TF_Operation*)target, 0};
  TF_Tensor *value = TF_AllocateTensor(TF_STRING, NULL, 0, sizeof(TF_TString)), *result = NULL;
  bool fetches = TF_OperationNumOutputs(fetch.oper) > 0;
  TF_StringInit(TF_TensorData(value));
  TF_StringCopy(TF_TensorData(value), data, size);
  TF_SessionRun(input->session, NULL, &x, &value, 1, &fetch, &result, fetches, &target, !fetches,
                NULL, input->status);
  TF_DeleteTensor(result);
  TF_DeleteTensor(value);
  return TF_GetCode(input->status) == TF_OK;
}

// |data| is the file and the state that the reader gets when its end was reached.
static void read_all(const input_t* input, const char* reader, const char* data, size_t size) {
  char path[40];
  int file = memfd_create("input", 0);
  if (file < 0 || write(file, data, size) != (ssize_t)size) return;
  int length = snprintf(path, sizeof path, "/proc/self/fd/%d", file);
  run(input, "put", "", path, (size_t)length);
  run(input, "close", "", "", 0);
  for (int i = 0; i < kMostReads && run(input, reader, i % 2 ? "/many" : "/one", "", 0); ++i) {
  }
  run(input, reader, "/state", "", 0);
  run(input, reader, "/restore", data, size);
  run(input, reader, "/one", "", 0);
  close(file);
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static TF_Graph* graph;
  if (size == 0) return 0;
  memory_limit_install(kMostBytes);
  input_t input = {.status = TF_NewStatus()};
  if (!graph) graph = make_graph(input.status);
  input.graph = graph;
  TF_SessionOptions* options = TF_NewSessionOptions();
  input.session = TF_NewSession(graph, options, input.status);
  int chosen = data[0] % (kReaderCount + kDecoderCount);
  const char* bytes = (const char*)data + 1;
  if (chosen < kReaderCount) {
    read_all(&input, kReaders[chosen], bytes, size - 1);
  } else {
    run(&input, kDecoders[chosen - kReaderCount], "", bytes, size - 1);
  }
  TF_DeleteSession(input.session, input.status);
  TF_DeleteSessionOptions(options);
  TF_DeleteStatus(input.status);
  return 0;
}
