// The saver of leat/train.h: adds operations to a graph that save and restore all of its variables,
// and keeps the checkpoints of a directory. The graph gets
//
//     file_name ──▶ SaveV2(names, variables) ──▶ saved          fetched to save
//               └─▶ RestoreV2(names) ──▶ Assign for each variable ──▶ restore_all
//
// Saving writes the checkpoint "<directory>/model.ckpt-<step>" and then publishes it in the state
// file (src/capi/leat/checkpoint_state.c), which also removes old checkpoints. A save that fails
// leaves nothing behind: what it wrote is removed, unless it was overwriting a checkpoint of the
// same step. A saver belongs to one thread at a time.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "client/saver.h"
#include "client/scope.h"
#include "leat/files.h"
#include "tensorflow/c/env.h"

struct leat_saver_t {
  char* directory;
  leat_saver_operations_t operations;
  leat_saver_options_t options;
  int64_t last_step;
  double last_time;
};

static double now_seconds(void) {
  struct timespec t;
  timespec_get(&t, TIME_UTC);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

// Adds a constant with the names of the variables, or, without |names|, as many empty strings,
// which are the slices of whole variables.
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

static leat_saver_operations_t add_operations(leat_scope_t* scope) {
  leat_saver_operations_t o = {.restore = NULL};
  leat_scope_t* s = leat_scope_enter(scope, "save");
  o.file_name = leat_placeholder(s, "file_name", TF_STRING, 0, NULL);
  TF_Output names = string_vector(s, scope->root, 1);
  TF_Output slices = string_vector(s, scope->root, 0);
  TF_Operation* save = leat_scope_is_ok(s) ? add_save(s, o.file_name, names, slices) : NULL;
  leat_scope_t* after = leat_scope_is_ok(s) ? leat_scope_after(s, &save, 1) : NULL;
  if (after) {
    o.saved.oper = leat_operation(after, "Identity", "saved", &o.file_name, 1, NULL, 0);
    o.restore = add_restore(s, o.file_name, names, slices);
  }
  leat_scope_free(after);
  leat_scope_free(s);
  return o;
}

leat_saver_t* leat_saver_create(leat_scope_t* scope, const char* directory,
                                leat_saver_options_t options) {
  TF_Status* status = leat_scope_status(scope);
  if (!leat_scope_is_ok(scope)) return NULL;
  if (scope->root->variable_count == 0) {
    leat_scope_fail(scope, TF_INVALID_ARGUMENT,
                    "Making a saver failed: the graph has no variables yet, must have one");
    return NULL;
  }
  leat_saver_operations_t operations = add_operations(scope);
  return leat_scope_is_ok(scope) ? leat_saver_over(operations, directory, options, status) : NULL;
}

// A saver over operations that are in the graph already, for example of a MetaGraphDef.
leat_saver_t* leat_saver_over(leat_saver_operations_t operations, const char* directory,
                              leat_saver_options_t options, TF_Status* status) {
  leat_saver_t* saver = calloc(1, sizeof *saver);
  char* copy = strdup(directory);
  if (!saver || !copy) {
    free(saver);
    free(copy);
    TF_SetStatus(status, TF_RESOURCE_EXHAUSTED, "no memory for a saver");
    return NULL;
  }
  *saver = (leat_saver_t){copy, operations, options, 0, now_seconds()};
  if (saver->options.keep <= 0) saver->options.keep = 5;
  if (options.timeout_ms > 0) saver->operations.timeout_ms = options.timeout_ms;
  TF_SetStatus(status, TF_OK, "");
  return saver;
}

leat_saver_operations_t leat_saver_operations(const leat_saver_t* saver) {
  return saver ? saver->operations : (leat_saver_operations_t){.restore = NULL};
}

void leat_saver_free(leat_saver_t* saver) {
  if (!saver) return;
  free(saver->directory);
  free(saver);
}

// Whether there may be a checkpoint |prefix|: yes, if it cannot be found out, since the caller
// removes what was not there.
static int has_index(const char* prefix) {
  char path[4096];
  TF_FileStatistics stats;
  TF_Status* status = TF_NewStatus();
  if (!status) return 1;
  snprintf(path, sizeof path, "%s.index", prefix);
  TF_FileStat(path, &stats, status);
  int found = TF_GetCode(status) != TF_NOT_FOUND;
  TF_DeleteStatus(status);
  return found;
}

// Removes what a failed save has left, unless the state file names it as the newest checkpoint.
static void abandon(const leat_saver_t* saver, const char* prefix) {
  TF_Status* status = TF_NewStatus();
  char* latest = status ? leat_checkpoint_latest(saver->directory, status) : NULL;
  if (status && !(latest && !strcmp(latest, prefix))) leat_checkpoint_remove(prefix, status);
  free(latest);
  TF_DeleteStatus(status);
}

// Whether the checkpoint is new is found out before, since a failed save may have replaced its
// index.
void leat_saver_save(leat_saver_t* saver, TF_Session* session, int64_t step, TF_Status* status) {
  size_t size = strlen(saver->directory) + 48;
  char* prefix = malloc(size);
  if (!prefix) {
    TF_SetStatus(status, TF_RESOURCE_EXHAUSTED, "no memory for the checkpoint's name");
    return;
  }
  snprintf(prefix, size, "%s/model.ckpt-%lld", saver->directory, (long long)step);
  int is_new = !has_index(prefix);
  leat_variables_save(session, &saver->operations, prefix, status);
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

// The step in the name of the checkpoint |prefix|, "model.ckpt-12"; 0 where it has none, as a name
// that another program chose. The directories before the name may have dashes of their own.
static int64_t step_of(const char* prefix) {
  const char* slash = strrchr(prefix, '/');
  const char* dash = strrchr(slash ? slash : prefix, '-');
  if (!dash || dash[1] < '0' || dash[1] > '9') return 0;
  char* end;
  errno = 0;
  const long long step = strtoll(dash + 1, &end, 10);
  return *end || errno ? 0 : step;
}

static void restore(leat_saver_t* saver, TF_Session* session, const char* prefix,
                    int64_t* out_step, TF_Status* status) {
  leat_variables_restore(session, &saver->operations, prefix, status);
  if (TF_GetCode(status) != TF_OK) return;
  saver->last_step = step_of(prefix);
  if (out_step) *out_step = saver->last_step;
}

void leat_saver_restore_latest(leat_saver_t* saver, TF_Session* session, int64_t* out_step,
                               TF_Status* status) {
  char* latest = leat_checkpoint_latest(saver->directory, status);
  if (latest) restore(saver, session, latest, out_step, status);
  free(latest);
}

// Whether a restore failed with |code| because a file is damaged or missing.
static int is_damage(TF_Code code) {
  return code == TF_DATA_LOSS || code == TF_OUT_OF_RANGE || code == TF_NOT_FOUND;
}

// |status| is that of the newest checkpoint until an older one was restored, or failed otherwise
// than by damage. A restore that fails leaves variables behind of which some are restored; the one
// that succeeds assigns all of them.
void leat_saver_restore_newest(leat_saver_t* saver, TF_Session* session, int64_t* out_step,
                               char** out_prefix,
                               void (*skip)(void* data, const char* prefix, const TF_Status* why),
                               void* data, TF_Status* status) {
  TF_Status* tried = TF_NewStatus();
  *out_prefix = NULL;
  if (!tried) {
    TF_SetStatus(status, TF_RESOURCE_EXHAUSTED, "no memory to restore a checkpoint");
    return;
  }
  char* prefix = leat_checkpoint_at(saver->directory, 0, status);
  if (!prefix && TF_GetCode(status) == TF_NOT_FOUND) TF_SetStatus(status, TF_OK, "");
  for (int i = 1; prefix && !*out_prefix; ++i) {
    restore(saver, session, prefix, out_step, tried);
    const TF_Code code = TF_GetCode(tried);
    if (code == TF_OK || !is_damage(code) || i == 1) TF_SetStatus(status, code, TF_Message(tried));
    if (code == TF_OK) {
      *out_prefix = prefix;
      break;
    }
    if (is_damage(code)) skip(data, prefix, tried);
    free(prefix);
    prefix = is_damage(code) ? leat_checkpoint_at(saver->directory, i, tried) : NULL;
  }
  TF_DeleteStatus(tried);
}
