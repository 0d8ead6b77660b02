// Dying in the middle of a save, at each call of the file system in turn: whoever comes next finds
// the old checkpoint of the prefix or the new one, whole, and can save there again. The six ways of
// saving all run through the front doors: the ops SaveV2, MergeV2Checkpoints, Save and SaveSlices,
// and the saver of leat/train.h, which also keeps the state file and removes old checkpoints. The
// file system under them loses what was not synced (crash_file_system.h), so that a missing sync is
// found as well as a wrong order. A second test saves again and again and counts files, because a
// save that leaves the old data behind would pass the first one.
#include <stdlib.h>
#include <string.h>

#include "client/model_kit.h"
#include "crash_file_system.h"
#include "leat/files.h"

enum { ITEMS = 64, OLD = 1, NEW = 2, LATER = 3, MAX_CALLS = 1000 };

// One way of saving: |save| stores ITEMS times |number|, |find| says under which prefix the newest
// checkpoint is.
typedef struct way_s {
  const char* name;
  void (*save)(int number, TF_Status* status);
  char* (*find)(void);
  int files;  // that one checkpoint has, with all that belongs to it
} way_t;

static struct {
  TF_Output value;
  TF_Operation *save_v2, *save_part[2], *merge, *save, *save_slices, *assign;
  leat_saver_t* saver;
} graph;

// ---- The graph ----------------------------------------------------------------------------------

static TF_Output texts(int count, const char* const* values) {
  int64_t dim = count;
  TF_Tensor* tensor = TF_AllocateTensor(TF_STRING, &dim, 1, (size_t)count * sizeof(TF_TString));
  TF_TString* items = TF_TensorData(tensor);
  for (int i = 0; i < count; ++i) TF_TString_Copy(&items[i], values[i], strlen(values[i]));
  leat_attribute_t attributes[] = {leat_attribute_tensor("value", tensor),
                                   leat_attribute_type("dtype", TF_STRING)};
  TF_Output output =
      kit_out(leat_operation(kit.scope, "Const", NULL, NULL, 0, attributes, 2), 0);
  TF_DeleteTensor(tensor);
  return output;
}

static TF_Output text(const char* value) { return texts(1, &value); }

// |graph.value|, |count| times.
static TF_Output repeated(int32_t count) {
  int64_t rank = 1;
  TF_Output inputs[] = {leat_constant(kit.scope, TF_INT32, 1, &rank, &count), graph.value};
  return kit_out(leat_operation(kit.scope, "Fill", NULL, inputs, 2, NULL, 0), 0);
}

static TF_Operation* save_op(const char* op, const char* file, const char* slice,
                             TF_Output value) {
  TF_Output inputs[] = {leat_constant_string(kit.scope, file), text("v"),
                        slice ? text(slice) : value, value};
  return leat_operation(kit.scope, op, NULL, inputs, slice ? 4 : 3, NULL, 0);
}

static int set_up(void** state) {
  static const int64_t items[] = {ITEMS};
  static const char* const parts[] = {"crash://disk/d/parts/a", "crash://disk/d/parts/b"};
  model_kit_set_up(state);
  leat_scope_t* s = kit.scope;
  graph.value = leat_placeholder(s, "value", TF_FLOAT, 0, NULL);
  TF_Output all = repeated(ITEMS);
  TF_Output part = repeated(ITEMS / 2);
  graph.save_v2 = save_op("SaveV2", "crash://disk/d/v2", "", all);
  graph.save_part[0] = save_op("SaveV2", parts[0], "64 0,32", part);
  graph.save_part[1] = save_op("SaveV2", parts[1], "64 32,32", part);
  TF_Output prefixes[] = {texts(2, parts),
                          leat_constant_string(s, "crash://disk/d/merged")};
  graph.merge = leat_operation(s, "MergeV2Checkpoints", NULL, prefixes, 2, NULL, 0);
  graph.save = save_op("Save", "crash://disk/v1", NULL, all);
  graph.save_slices = save_op("SaveSlices", "crash://disk/v1", "64 0,64", all);
  leat_variable(s, "v", TF_FLOAT, 1, items, leat_initializer_constant(0));
  graph.assign = leat_operation(s, "Assign", NULL,
                                (TF_Output[]){leat_variable_at(s, 0), all}, 2, NULL, 0);
  leat_saver_options_t options = {.keep = 1};
  graph.saver = leat_saver_create(s, "crash://disk/d", options);
  kit_ok(leat_scope_status(s));
  kit.session = kit_session(kit.graph);
  return 0;
}

static int tear_down(void** state) {
  leat_saver_free(graph.saver);
  crash_file_system_free();
  return model_kit_tear_down(state);
}

// ---- The ways -----------------------------------------------------------------------------------

static void run(TF_Operation* target, int number, TF_Status* status) {
  TF_Tensor* value = TF_AllocateTensor(TF_FLOAT, NULL, 0, sizeof(float));
  *(float*)TF_TensorData(value) = (float)number;
  const TF_Operation* targets[] = {target};
  TF_SessionRun(kit.session, NULL, &graph.value, &value, 1, NULL, NULL, 0, targets, 1, NULL,
                status);
  TF_DeleteTensor(value);
}

static void save_v2(int number, TF_Status* status) { run(graph.save_v2, number, status); }

// Two halves are saved apart and then merged, as two tasks of a cluster would do it.
static void save_merged(int number, TF_Status* status) {
  TF_SetStatus(status, TF_OK, "");
  for (int i = 0; i < 2 && TF_GetCode(status) == TF_OK; ++i) {
    run(graph.save_part[i], number, status);
  }
  if (TF_GetCode(status) == TF_OK) run(graph.merge, number, status);
}

static void save_v1(int number, TF_Status* status) { run(graph.save, number, status); }

static void save_slices(int number, TF_Status* status) { run(graph.save_slices, number, status); }

static void save_same_step(int number, TF_Status* status) {
  run(graph.assign, number, status);
  if (TF_GetCode(status) == TF_OK) leat_saver_save(graph.saver, kit.session, 7, status);
}

static void save_next_step(int number, TF_Status* status) {
  run(graph.assign, number, status);
  if (TF_GetCode(status) == TF_OK) leat_saver_save(graph.saver, kit.session, number, status);
}

static char* at_v2(void) { return strdup("crash://disk/d/v2"); }
static char* at_merged(void) { return strdup("crash://disk/d/merged"); }
static char* at_v1(void) { return strdup("crash://disk/v1"); }

static char* at_latest(void) {
  TF_Status* status = TF_NewStatus();
  char* path = leat_checkpoint_latest("crash://disk/d", status);
  kit_ok(status);
  TF_DeleteStatus(status);
  return path;
}

static const way_t ways[] = {
    {"SaveV2", save_v2, at_v2, 2},
    {"MergeV2Checkpoints", save_merged, at_merged, 3},
    {"Save", save_v1, at_v1, 1},
    {"SaveSlices", save_slices, at_v1, 1},
    {"saver, same step", save_same_step, at_latest, 3},
    {"saver, next step", save_next_step, at_latest, 3},
};

// ---- Dying --------------------------------------------------------------------------------------

// The number that is stored, in every item.
static int load(const way_t* way) {
  TF_Status* status = TF_NewStatus();
  char* prefix = way->find();
  leat_checkpoint_t* checkpoint = leat_checkpoint_open(prefix, status);
  kit_ok(status);
  TF_Tensor* tensor = leat_checkpoint_read(checkpoint, "v", status);
  kit_ok(status);
  assert_int_equal(TF_TensorElementCount(tensor), ITEMS);
  const float* items = TF_TensorData(tensor);
  for (int i = 1; i < ITEMS; ++i) assert_true(items[i] == items[0]);
  int number = (int)items[0];
  TF_DeleteTensor(tensor);
  leat_checkpoint_close(checkpoint);
  TF_DeleteStatus(status);
  free(prefix);
  return number;
}

static void save(const way_t* way, int number) {
  way->save(number, kit.status);
  kit_ok(kit.status);
}

// Dies at call |nth| of a save of NEW over OLD; false when the save made fewer calls.
static bool die_once(const way_t* way, crash_kind_t kind, int64_t nth) {
  crash_file_system_reset();
  save(way, OLD);
  crash_file_system_die_at(nth);
  way->save(NEW, kit.status);
  bool died = crash_file_system_is_dead();
  bool is_saved = TF_GetCode(kit.status) == TF_OK;
  if (!died) kit_ok(kit.status);
  crash_file_system_crash(kind, (uint64_t)nth);
  int number = load(way);
  if (number != NEW && (is_saved || number != OLD)) {
    fail_msg("%s, crash %d at call %lld: found %d", way->name, kind, (long long)nth, number);
  }
  save(way, LATER);
  assert_int_equal(load(way), LATER);
  return died;
}

static void every_call_may_be_the_last(void** state) {
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(ways); ++i) {
    for (int kind = 0; kind < CRASH_KINDS; ++kind) {
      int64_t nth = 1;
      while (die_once(&ways[i], (crash_kind_t)kind, nth)) assert_true(++nth < MAX_CALLS);
      assert_true(nth > 5);  // the save went through this file system
    }
  }
}

// What a save replaced is gone when it returns: however often a prefix is saved under, there are
// the files of one checkpoint. And a save that returned is on the disk.
static void saving_again_leaves_one_checkpoint(void** state) {
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(ways); ++i) {
    crash_file_system_reset();
    for (int number = 1; number < 6; ++number) {
      save(&ways[i], number);
      assert_int_equal(crash_file_system_count(), ways[i].files);
      assert_int_equal(load(&ways[i]), number);
    }
    crash_file_system_crash(CRASH_LOSE_NAMES, 0);
    assert_int_equal(load(&ways[i]), 5);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(every_call_may_be_the_last, set_up, tear_down),
      cmocka_unit_test_setup_teardown(saving_again_leaves_one_checkpoint, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
