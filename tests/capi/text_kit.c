// See text_kit.h. The texts are parsed by splitting copies of them at separators.
#include "capi/text_kit.h"

#include <stdio.h>
#include <stdlib.h>

#include "tensorflow/c/tf_tstring.h"

enum { MOST = 64 };

void text_load(void) {
  static bool is_loaded;
  char path[1000];
  if (is_loaded) return;
  TF_Status* s = TF_NewStatus();
  snprintf(path, sizeof path, "%s/lib/text_plugin.so", getenv("LEAT_BUILD_DIR"));
  assert_non_null(TF_LoadLibrary(path, s));
  kit_ok(s);
  TF_DeleteStatus(s);
  is_loaded = true;
}

// ---- Inputs -------------------------------------------------------------------------------------

// Splits |text|, which is changed; how many parts there are. An empty text has none.
static int split(char* text, char separator, char** out_parts) {
  int count = 0;
  while (text && *text) {
    assert_true(count < MOST);
    out_parts[count++] = text;
    text = strchr(text, separator);
    if (text) *text++ = 0;
    // "a," has an empty part at its end
    if (text && !*text) out_parts[count++] = text;
  }
  return count;
}

static TF_DataType type_of(char letter) {
  switch (letter | 32) {
    case 's': return TF_STRING;
    case 'i': return TF_INT32;
    case 'l': return TF_INT64;
    case 'f': return TF_FLOAT;
    case 'b': return TF_BOOL;
    default: fail_msg("no type '%c'", letter); return TF_FLOAT;
  }
}

static void set_value(TF_DataType dtype, void* data, int i, char* text) {
  if (dtype == TF_INT32) ((int32_t*)data)[i] = (int32_t)atoll(text);
  if (dtype == TF_INT64) ((int64_t*)data)[i] = atoll(text);
  if (dtype == TF_FLOAT) ((float*)data)[i] = strtof(text, NULL);
  if (dtype == TF_BOOL) ((char*)data)[i] = *text == '1';
  if (dtype != TF_STRING) return;
  for (char* c = text; *c; ++c) {
    if (*c == '_') *c = ' ';
  }
  TF_StringInit((TF_TString*)data + i);
  TF_StringCopy((TF_TString*)data + i, text, strlen(text));
}

static TF_Tensor* parse(const char* text) {
  char copy[2000], *values[MOST], *shape = NULL;
  int64_t dims[4], rank = 0;
  snprintf(copy, sizeof copy, "%s", text);
  char* at = copy;
  if (*at == '[') {
    shape = at + 1;
    at = strchr(at, ']');
    *at++ = 0;
  }
  const char letter = *at++;
  const TF_DataType dtype = type_of(letter);
  const int count = split(at, ',', values);
  if (shape) {
    char* parts[MOST];
    rank = split(shape, 'x', parts);
    for (int i = 0; i < rank; ++i) dims[i] = atoll(parts[i]);
  } else if (letter & 32) {
    dims[rank++] = count;
  }
  const bool is_empty_scalar = rank == 0 && count == 0;
  const size_t item = dtype == TF_STRING ? sizeof(TF_TString) : TF_DataTypeSize(dtype);
  const size_t bytes = (size_t)(is_empty_scalar ? 1 : count) * item;
  TF_Tensor* tensor = TF_AllocateTensor(dtype, dims, (int)rank, bytes);
  assert_non_null(tensor);
  if (is_empty_scalar) set_value(dtype, TF_TensorData(tensor), 0, at);
  for (int i = 0; i < count; ++i) set_value(dtype, TF_TensorData(tensor), i, values[i]);
  return tensor;
}

static void set_attribute(TF_OperationDescription* desc, char* text) {
  char* value = strchr(text, '=');
  *value++ = 0;
  const char kind = *value++;
  if (kind == 'B') TF_SetAttrBool(desc, text, *value == '1');
  if (kind == 'I') TF_SetAttrInt(desc, text, atoll(value));
  if (kind == 'S') TF_SetAttrString(desc, text, value, strlen(value));
  if (kind != 'T') return;
  TF_SetAttrType(desc, text, strcmp(value, "int32") == 0   ? TF_INT32
                             : strcmp(value, "int64") == 0 ? TF_INT64
                                                           : TF_STRING);
}

TF_Operation* text_add(TF_Graph* graph, const char* name, const text_case_t* c,
                       TF_Operation* handle, TF_Operation* before, TF_Status* s) {
  char inputs[4000], attributes[1000], *parts[MOST];
  snprintf(inputs, sizeof inputs, "%s", c->inputs);
  snprintf(attributes, sizeof attributes, "%s", c->attributes);
  TF_Operation* arguments[MOST];
  const int count = split(inputs, ' ', parts);
  for (int i = 0; i < count; ++i) {
    char input_name[100];
    snprintf(input_name, sizeof input_name, "%s_%d", name, i);
    arguments[i] =
        strcmp(parts[i], "@") == 0 ? handle : kit_const(graph, input_name, parse(parts[i]));
  }
  TF_OperationDescription* desc = TF_NewOperation(graph, c->op, name);
  for (int i = 0; i < count; ++i) TF_AddInput(desc, kit_out(arguments[i], 0));
  if (before) TF_AddControlInput(desc, before);
  const int attribute_count = split(attributes, ' ', parts);
  for (int i = 0; i < attribute_count; ++i) set_attribute(desc, parts[i]);
  return TF_FinishOperation(desc, s);
}

// ---- Outputs ------------------------------------------------------------------------------------

static size_t print_value(const TF_Tensor* tensor, int64_t i, char* out, size_t room) {
  const void* data = TF_TensorData(tensor);
  const TF_DataType dtype = TF_TensorType(tensor);
  if (dtype == TF_INT32) return (size_t)snprintf(out, room, "%d", ((const int32_t*)data)[i]);
  if (dtype == TF_FLOAT) return (size_t)snprintf(out, room, "%.4g", ((const float*)data)[i]);
  if (dtype == TF_INT64) {
    return (size_t)snprintf(out, room, "%lld", (long long)((const int64_t*)data)[i]);
  }
  const TF_TString* string = (const TF_TString*)data + i;
  const int size = (int)TF_StringGetSize(string);
  return (size_t)snprintf(out, room, "%.*s", size, TF_StringGetDataPointer(string));
}

static void print_outputs(TF_Tensor* const* values, int count, char* out, size_t room) {
  size_t at = 0;
  for (int i = 0; i < count; ++i) {
    if (i > 0) at += (size_t)snprintf(out + at, room - at, " | ");
    for (int64_t j = 0; j < TF_TensorElementCount(values[i]); ++j) {
      if (j > 0) at += (size_t)snprintf(out + at, room - at, ",");
      at += print_value(values[i], j, out + at, room - at);
      assert_true(at < room);
    }
  }
}

void text_run(TF_Session* session, TF_Operation* node, const text_case_t* c) {
  TF_Output outputs[MOST];
  TF_Tensor* values[MOST] = {NULL};
  char got[4000] = "";
  const int count = TF_OperationNumOutputs(node);
  TF_Status* s = TF_NewStatus();
  for (int i = 0; i < count; ++i) outputs[i] = kit_out(node, i);
  TF_SessionRun(session, NULL, NULL, NULL, 0, outputs, values, count, NULL, 0, NULL, s);
  if (c->code) {
    kit_expect_text(s, c->code, c->outputs);
  } else {
    kit_ok(s);
    print_outputs(values, count, got, sizeof got);
    assert_string_equal(got, c->outputs);
  }
  for (int i = 0; i < count; ++i) TF_DeleteTensor(values[i]);
  TF_DeleteStatus(s);
}

void text_check(const text_case_t* c) {
  text_load();
  TF_Status* s = TF_NewStatus();
  TF_Graph* graph = TF_NewGraph();
  TF_Operation* node = text_add(graph, "node", c, NULL, NULL, s);
  if (!node) {  // inference of shapes saw the mistake
    kit_expect_text(s, c->code, c->outputs);
  } else {
    TF_Session* session = kit_session(graph);
    text_run(session, node, c);
    kit_close(session);
  }
  TF_DeleteGraph(graph);
  TF_DeleteStatus(s);
}
