// Functions: a FunctionDef (or '#' and one in text form) called "f" goes into a graph, as its own
// gradient function too, and is called in each way there is, with limits on memory and time.
// Inlining, lowering, differentiating and running then meet a body that no client library would
// write. The function is renamed to "f" whatever the input calls it, so that the calls find it.
// Bodies with ops that touch files are not run, since files are not the target's to write. The text
// form is there because changes of a text make sound functions more often than changes of bytes.
#define _GNU_SOURCE  // memmem
#include <stdio.h>
#include <string.h>

#include "formats/generated/graph.h"
#include "formats/wire/decode.h"
#include "formats/wire/encode.h"
#include "formats/wire/text.h"
#include "memory_limit.h"
#include "tensorflow/c/c_api.h"

enum { kMostBytes = 1 << 26, kMostArguments = 8 };

static leat_status_t read_function(const uint8_t* data, size_t size, leat_arena_t* arena,
                                   leat_pb_function_def_t* def) {
  bool is_text = size && data[0] == '#';
  leat_string_view_t view = leat_string_view_make((const char*)data + is_text, size - is_text);
  if (is_text) return leat_text_parse(&leat_pb_function_def_descriptor, view, arena, def);
  return leat_message_decode(&leat_pb_function_def_descriptor, view, arena, NULL, def);
}

// Files are not the target's to write.
static bool touches_files(const leat_pb_function_def_t* def) {
  static const char* const words[] = {"Save", "Write", "File", "Restore", "Summary", "Print",
                                      "Reader", "Dataset", "MergeV2"};
  for (size_t i = 0; i < def->node_def.count; ++i) {
    leat_string_view_t op = def->node_def.items[i].op;
    for (size_t k = 0; k < sizeof words / sizeof *words; ++k) {
      if (op.size && memmem(op.data, op.size, words[k], strlen(words[k]))) return true;
    }
  }
  return false;
}

static TF_Function* make_function(const leat_pb_function_def_t* def, TF_Status* status) {
  leat_string_builder_t bytes;
  leat_string_builder_initialize(leat_allocator_system(), &bytes);
  leat_status_t result = leat_message_encode(&leat_pb_function_def_descriptor, def, &bytes);
  TF_Function* function =
      result ? NULL : TF_FunctionImportFunctionDef(bytes.data, bytes.size, status);
  leat_status_free(result);
  leat_string_builder_deinitialize(&bytes);
  return function;
}

// Arguments that say their type: placeholders.
static int add_arguments(TF_Graph* graph, const leat_pb_op_def_t* signature, TF_Output* arguments,
                         TF_DataType* types, TF_Status* status) {
  int count = 0;
  for (size_t i = 0; i < signature->input_arg.count && count < kMostArguments; ++i, ++count) {
    char name[20];
    snprintf(name, sizeof name, "x%d", count);
    TF_OperationDescription* desc = TF_NewOperation(graph, "Placeholder", name);
    types[count] = (TF_DataType)signature->input_arg.items[i].type;
    TF_SetAttrType(desc, "dtype", types[count]);
    arguments[count] = (TF_Output){TF_FinishOperation(desc, status), 0};
    if (!arguments[count].oper) break;
  }
  return count;
}

static int return_types(const leat_pb_op_def_t* signature, TF_DataType* types) {
  int count = 0;
  for (; (size_t)count < signature->output_arg.count && count < kMostArguments; ++count) {
    types[count] = (TF_DataType)signature->output_arg.items[count].type;
  }
  return count;
}

typedef struct call_s {
  TF_Output arguments[kMostArguments];
  TF_DataType in[kMostArguments], out[kMostArguments];
  int in_count, out_count;
} call_t;

static void set_functions(TF_OperationDescription* desc, const char* op) {
  if (!strcmp(op, "If")) {
    TF_SetAttrFuncName(desc, "then_branch", "f", 1);
    TF_SetAttrFuncName(desc, "else_branch", "f", 1);
    TF_SetAttrType(desc, "Tcond", TF_BOOL);
  } else if (!strcmp(op, "While")) {
    TF_SetAttrFuncName(desc, "cond", "f", 1);
    TF_SetAttrFuncName(desc, "body", "f", 1);
  } else {
    TF_SetAttrFuncName(desc, "f", "f", 1);
  }
}

static TF_Operation* add_call(TF_Graph* graph, const char* op, const char* name, bool lower,
                              TF_Output yes, const call_t* call, TF_Status* status) {
  TF_OperationDescription* desc = TF_NewOperation(graph, op, name);
  bool by_name = !strcmp(op, "f");
  if (!strcmp(op, "If")) TF_AddInput(desc, yes);
  if (by_name) {
    for (int i = 0; i < call->in_count; ++i) TF_AddInput(desc, call->arguments[i]);
    return TF_FinishOperation(desc, status);
  }
  TF_AddInputList(desc, call->arguments, call->in_count);
  bool loops = !strcmp(op, "While");
  TF_SetAttrTypeList(desc, loops ? "T" : "Tin", call->in, call->in_count);
  if (!loops) TF_SetAttrTypeList(desc, "Tout", call->out, call->out_count);
  set_functions(desc, op);
  if (lower) TF_SetAttrBool(desc, "_lower_using_switch_merge", 1);
  return TF_FinishOperation(desc, status);
}

static void run(TF_Session* session, TF_Operation* operation, const call_t* call,
                TF_Status* status) {
  static const char limit[] = {0x10, 100};  // RunOptions.timeout_in_ms
  const int64_t dims[] = {2};
  TF_Buffer* options = TF_NewBufferFromString(limit, sizeof limit);
  TF_Output fetch = {operation, 0};
  TF_Tensor *result = NULL, *values[kMostArguments] = {NULL};
  const TF_Operation* target = operation;
  int count = 0;
  for (; count < call->in_count; ++count) {
    size_t item = TF_DataTypeSize(call->in[count]);
    if (item == 0) break;  // strings, resources: nothing to feed
    values[count] = TF_AllocateTensor(call->in[count], dims, 1, 2 * item);
    if (!values[count]) break;
    memset(TF_TensorData(values[count]), 1, 2 * item);
  }
  bool fetches = TF_OperationNumOutputs(operation) > 0;
  TF_SessionRun(session, options, call->arguments, values, count, &fetch, &result, fetches,
                &target, !fetches, NULL, status);
  for (int i = 0; i < count; ++i) TF_DeleteTensor(values[i]);
  TF_DeleteTensor(result);
  TF_DeleteBuffer(options);
}

static TF_Operation* add_true(TF_Graph* graph, TF_Status* status) {
  TF_Tensor* value = TF_AllocateTensor(TF_BOOL, NULL, 0, 1);
  *(unsigned char*)TF_TensorData(value) = 1;
  TF_OperationDescription* desc = TF_NewOperation(graph, "Const", "yes");
  TF_SetAttrType(desc, "dtype", TF_BOOL);
  TF_SetAttrTensor(desc, "value", value, status);
  TF_DeleteTensor(value);
  return TF_FinishOperation(desc, status);
}

static void call_all_ways(TF_Graph* graph, const leat_pb_op_def_t* signature, TF_Status* status) {
  static const char* const ops[] = {"f", "PartitionedCall", "If", "If", "While", "While",
                                    "SymbolicGradient"};
  call_t call;
  TF_Output yes = {add_true(graph, status), 0};
  call.in_count = add_arguments(graph, signature, call.arguments, call.in, status);
  call.out_count = return_types(signature, call.out);
  TF_SessionOptions* options = TF_NewSessionOptions();
  TF_Session* session = TF_NewSession(graph, options, status);
  for (int i = 0; session && i < 7; ++i) {
    char name[20];
    snprintf(name, sizeof name, "call%d", i);
    TF_Operation* made = add_call(graph, ops[i], name, i % 2, yes, &call, status);
    if (made) run(session, made, &call, status);
  }
  if (session) TF_DeleteSession(session, status);
  TF_DeleteSessionOptions(options);
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  memory_limit_install(kMostBytes);
  leat_arena_t arena;
  leat_pb_function_def_t def = {0};
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  leat_status_t result = read_function(data, size, &arena, &def);
  if (!result && def.signature && !touches_files(&def)) {
    TF_Status* status = TF_NewStatus();
    TF_Graph* graph = TF_NewGraph();
    def.signature->name = LEAT_SV("f");
    TF_Function* function = make_function(&def, status);
    if (function) TF_GraphCopyFunction(graph, function, size % 2 ? function : NULL, status);
    if (function && TF_GetCode(status) == TF_OK) call_all_ways(graph, def.signature, status);
    TF_DeleteFunction(function);
    TF_DeleteGraph(graph);
    TF_DeleteStatus(status);
  }
  leat_status_free(result);
  leat_arena_deinitialize(&arena);
  return 0;
}
