// The saver of leat/train.h: SaveV2 and RestoreV2 in the graph, one fed file name; the state file
// and the removal of old checkpoints are leat/files.h's.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "client/scope.h"
#include "leat/files.h"

struct leat_saver_t {
  char* directory;
  leat_saver_options_t options;
  TF_Output file_name;  // fed
  TF_Operation* save;
  TF_Operation* restore;
  int64_t last_step;
  double last_time;
};

static double now_seconds(void) {
  struct timespec t;
  timespec_get(&t, TIME_UTC);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static TF_Output string_vector(leat_scope_t* s, const leat_scope_root_t* root, int names) {
  int64_t count = root->variable_count;
  TF_Tensor* tensor =
      TF_AllocateTensor(TF_STRING, &count, 1, (size_t)count * sizeof(TF_TString));
  if (!tensor) {
    leat_scope_fail(s, TF_RESOURCE_EXHAUSTED, "no memory for the saver's names");
    return (TF_Output){NULL, 0};
  }
  TF_TString* strings = TF_TensorData(tensor);
  for (int64_t i = 0; names && i < count; ++i) {
    TF_TString_Copy(&strings[i], root->variables[i].name, strlen(root->variables[i].name));
  }
  leat_attribute_t attributes[] = {leat_attribute_tensor("value", tensor),
                                   leat_attribute_type("dtype", TF_STRING)};
  TF_Output output = {leat_operation(s, "Const", NULL, NULL, 0, attributes, 2), 0};
  TF_DeleteTensor(tensor);
  return output;
}

static TF_Operation* add_save(leat_scope_t* s, TF_Output file, TF_Output names, TF_Output slices) {
  const leat_scope_root_t* root = s->root;
  int count = root->variable_count;
  TF_Output* inputs = calloc((size_t)count + 3, sizeof *inputs);
  TF_Operation* save = NULL;
  if (inputs) {
    inputs[0] = file;
    inputs[1] = names;
    inputs[2] = slices;
    for (int i = 0; i < count; ++i) inputs[3 + i] = root->variables[i].handle;
    save = leat_operation(s, "SaveV2", NULL, inputs, count + 3, NULL, 0);
  } else {
    leat_scope_fail(s, TF_RESOURCE_EXHAUSTED, "no memory to save %d variables", count);
  }
  free(inputs);
  return save;
}

static TF_Operation* add_restore(leat_scope_t* s, TF_Output file, TF_Output names,
                                 TF_Output slices) {
  const leat_scope_root_t* root = s->root;
  int count = root->variable_count;
  TF_DataType* types = calloc((size_t)count + 1, sizeof *types);
  TF_Operation** assigns = calloc((size_t)count + 1, sizeof *assigns);
  TF_Operation* group = NULL;
  if (types && assigns) {
    for (int i = 0; i < count; ++i) types[i] = root->variables[i].dtype;
    leat_attribute_t dtypes = leat_attribute_types("dtypes", count, types);
    TF_Output inputs[] = {file, names, slices};
    TF_Operation* restore = leat_operation(s, "RestoreV2", NULL, inputs, 3, &dtypes, 1);
    for (int i = 0; i < count; ++i) {
      TF_Output pair[] = {root->variables[i].handle, {restore, i}};
      assigns[i] = leat_operation(s, "Assign", NULL, pair, 2, NULL, 0);
    }
    if (leat_scope_is_ok(s)) group = leat_group(s, "restore_all", assigns, count);
  } else {
    leat_scope_fail(s, TF_RESOURCE_EXHAUSTED, "no memory to restore %d variables", count);
  }
  free(assigns);
  free(types);
  return group;
}

leat_saver_t* leat_saver_create(leat_scope_t* scope, const char* directory,
                                leat_saver_options_t options) {
  if (!leat_scope_is_ok(scope)) return NULL;
  if (scope->root->variable_count == 0) {
    leat_scope_fail(scope, TF_INVALID_ARGUMENT,
                    "Making a saver failed: the graph has no variables yet, must have one");
    return NULL;
  }
  leat_saver_t* saver = calloc(1, sizeof *saver);
  char* copy = strdup(directory);
  if (!saver || !copy) {
    free(saver);
    free(copy);
    leat_scope_fail(scope, TF_RESOURCE_EXHAUSTED, "no memory for a saver");
    return NULL;
  }
  saver->directory = copy;
  saver->options = options;
  if (saver->options.keep <= 0) saver->options.keep = 5;
  saver->last_time = now_seconds();
  leat_scope_t* s = leat_scope_enter(scope, "save");
  saver->file_name = leat_placeholder(s, "file_name", TF_STRING, 0, NULL);
  TF_Output names = string_vector(s, scope->root, 1);
  TF_Output slices = string_vector(s, scope->root, 0);
  if (leat_scope_is_ok(s)) saver->save = add_save(s, saver->file_name, names, slices);
  if (leat_scope_is_ok(s)) saver->restore = add_restore(s, saver->file_name, names, slices);
  leat_scope_free(s);
  if (leat_scope_is_ok(scope)) return saver;
  leat_saver_free(saver);
  return NULL;
}

void leat_saver_free(leat_saver_t* saver) {
  if (!saver) return;
  free(saver->directory);
  free(saver);
}

static void run_with_file(leat_saver_t* saver, TF_Session* session, TF_Operation* target,
                          const char* file, TF_Status* status) {
  TF_Tensor* name = TF_AllocateTensor(TF_STRING, NULL, 0, sizeof(TF_TString));
  if (!name) {
    TF_SetStatus(status, TF_RESOURCE_EXHAUSTED, "no memory for the checkpoint's name");
    return;
  }
  TF_TString_Copy(TF_TensorData(name), file, strlen(file));
  const TF_Operation* targets[] = {target};
  TF_SessionRun(session, NULL, &saver->file_name, &name, 1, NULL, NULL, 0, targets, 1, NULL,
                status);
  TF_DeleteTensor(name);
}

static int has_index(const char* prefix) {
  char path[4096];
  snprintf(path, sizeof path, "%s.index", prefix);
  FILE* file = fopen(path, "rb");
  if (file) fclose(file);
  return file != NULL;
}

// After a save that failed: what it left is of use to nobody, unless the state file names it.
static void abandon(const leat_saver_t* saver, const char* prefix) {
  TF_Status* status = TF_NewStatus();
  char* latest = status ? leat_checkpoint_latest(saver->directory, status) : NULL;
  if (status && !(latest && !strcmp(latest, prefix))) leat_checkpoint_remove(prefix, status);
  free(latest);
  TF_DeleteStatus(status);
}

void leat_saver_save(leat_saver_t* saver, TF_Session* session, int64_t step, TF_Status* status) {
  size_t size = strlen(saver->directory) + 48;
  char* prefix = malloc(size);
  if (!prefix) {
    TF_SetStatus(status, TF_RESOURCE_EXHAUSTED, "no memory for the checkpoint's name");
    return;
  }
  snprintf(prefix, size, "%s/model.ckpt-%lld", saver->directory, (long long)step);
  int is_new = !has_index(prefix);
  run_with_file(saver, session, saver->save, prefix, status);
  if (TF_GetCode(status) == TF_OK) {
    leat_checkpoint_publish(saver->directory, prefix, saver->options.keep, status);
  }
  if (TF_GetCode(status) == TF_OK) {
    saver->last_step = step;
    saver->last_time = now_seconds();
  } else if (is_new) {
    abandon(saver, prefix);
  }
  free(prefix);
}

int leat_saver_step(leat_saver_t* saver, TF_Session* session, int64_t step, TF_Status* status) {
  const leat_saver_options_t* o = &saver->options;
  bool by_steps = o->every_steps > 0 && step - saver->last_step >= o->every_steps;
  bool by_time = o->every_seconds > 0 && now_seconds() - saver->last_time >= o->every_seconds;
  TF_SetStatus(status, TF_OK, "");
  if (!by_steps && !by_time) return 0;
  leat_saver_save(saver, session, step, status);
  return TF_GetCode(status) == TF_OK;
}

void leat_saver_restore_latest(leat_saver_t* saver, TF_Session* session, int64_t* out_step,
                               TF_Status* status) {
  char* latest = leat_checkpoint_latest(saver->directory, status);
  if (!latest) return;
  run_with_file(saver, session, saver->restore, latest, status);
  const char* dash = strrchr(latest, '-');
  int64_t step = dash ? strtoll(dash + 1, NULL, 10) : 0;
  free(latest);
  if (TF_GetCode(status) != TF_OK) return;
  saver->last_step = step;
  if (out_step) *out_step = step;
}
