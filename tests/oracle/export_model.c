// export_model DIRECTORY ASSET: a small model with leat/train.h as a SavedModel, for
// saved_model_oracle.py. y = x w + b with w = [[1, 2], [3, 4]], b = [-1, 5]; the initialiser keeps
// the path of the asset in the variable "place". Its MetaGraph goes to model.meta.
#include <stdio.h>
#include <stdlib.h>

#include "leat/train.h"

static void check(const TF_Status* status, const char* what) {
  if (TF_GetCode(status) == TF_OK) return;
  fprintf(stderr, "%s: %s\n", what, TF_Message(status));
  exit(1);
}

static TF_Output variable(leat_scope_t* s, const char* name, int rank, const int64_t* dims,
                          const float* values, TF_Operation** out_set) {
  TF_Output v = leat_variable(s, name, TF_FLOAT, rank, dims, leat_initializer_constant(0));
  TF_Output handle = leat_variable_at(s, leat_variable_count(s) - 1);
  TF_Output pair[] = {handle, leat_constant_floats(s, rank, dims, values)};
  *out_set = leat_operation(s, "Assign", NULL, pair, 2, NULL, 0);
  return v;
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  TF_Graph* graph = TF_NewGraph();
  TF_Status* status = TF_NewStatus();
  leat_scope_t* s = leat_scope_create(graph);
  TF_Operation* sets[2];
  TF_Output x = leat_placeholder(s, "x", TF_FLOAT, 2, (int64_t[]){-1, 2});
  TF_Output w = variable(s, "w", 2, (int64_t[]){2, 2}, (float[]){1, 2, 3, 4}, &sets[0]);
  TF_Output b = variable(s, "b", 1, (int64_t[]){2}, (float[]){-1, 5}, &sets[1]);
  TF_Output y = leat_add(s, leat_matmul(s, x, w), b);
  TF_Operation* init = leat_group(s, "init", sets, 2);
  leat_saver_t* saver = leat_saver_create(s, "unused", (leat_saver_options_t){.keep = 1});
  TF_Output path = leat_constant_string(s, "as exported");
  leat_attribute_t attributes[] = {leat_attribute_type("dtype", TF_STRING),
                                   leat_attribute_shape("shape", 0, NULL)};
  TF_Output place = {leat_operation(s, "VariableV2", "place", NULL, 0, attributes, 2), 0};
  TF_Operation* keep =
      leat_operation(s, "Assign", "keep", (TF_Output[]){place, path}, 2, NULL, 0);
  check(leat_scope_status(s), "graph");
  TF_SessionOptions* options = TF_NewSessionOptions();
  TF_Session* session = TF_NewSession(graph, options, status);
  check(status, "session");
  leat_target_run(session, init, status);
  check(status, "init");
  leat_model_tensor_t in = {"images", x}, out = {"scores", y};
  leat_model_signature_t signature = {"serving_default", NULL, &in, 1, &out, 1};
  leat_model_asset_t asset = {argv[2], path};
  leat_model_t model = {.signatures = &signature, .signature_count = 1, .assets = &asset,
                        .asset_count = 1, .saver = leat_saver_operations(saver),
                        .initializer = keep};
  leat_saved_model_write(argv[1], graph, session, &model, status);
  check(status, "export");
  leat_meta_graph_write("model.meta", graph, &model, status);
  check(status, "model.meta");
  leat_saver_free(saver);
  leat_scope_free(s);
  TF_DeleteSession(session, status);
  TF_DeleteSessionOptions(options);
  TF_DeleteGraph(graph);
  TF_DeleteStatus(status);
  return 0;
}
