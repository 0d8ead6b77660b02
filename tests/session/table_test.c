// Tables and readers as resources of a session: what one step does, the next sees; a read that
// waits for work holds no thread.
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/file_system.h"
#include "base/random.h"
#include "base/thread.h"
#include "session/scene.h"

// ---- Tables -------------------------------------------------------------------------------------

static leat_output_t make_table(scene_t* s, const char* op, const char* name) {
  return scene_output(s, op, name, "", LEAT_NO_INPUTS,
                      LEAT_ATTRS(LEAT_TYPE("key_dtype", LEAT_DTYPE_INT64),
                                 LEAT_TYPE("value_dtype", LEAT_DTYPE_FLOAT)));
}

static leat_output_t longs(scene_t* s, int64_t count, const int64_t* values) {
  leat_tensor_t tensor;
  LEAT_EXPECT_OK(leat_tensor_vector(LEAT_DTYPE_INT64, values, count, &tensor));
  leat_output_t output = leat_build_constant(&s->b, &tensor);
  leat_tensor_release(&tensor);
  return output;
}

static leat_attrs_t in_out(void) {
  static const leat_attr_t kTypes[] = {
      {{"Tin", 3}, {.kind = LEAT_ATTR_TYPE, .type = LEAT_DTYPE_INT64}},
      {{"Tout", 4}, {.kind = LEAT_ATTR_TYPE, .type = LEAT_DTYPE_FLOAT}}};
  return (leat_attrs_t){kTypes, 2};
}

static leat_output_t make_find(scene_t* s, leat_output_t table, leat_output_t keys) {
  return scene_output(s, "LookupTableFindV2", "", "",
                      LEAT_INPUTS(table, keys, scene_float(s, -1)), in_out());
}

static void expect_floats(scene_t* s, leat_output_t fetch, int count, const float* wanted) {
  leat_tensor_t value;
  LEAT_EXPECT_OK(scene_fetch(s, fetch, &value));
  assert_int_equal(value.shape.element_count, count);
  for (int i = 0; i < count; ++i) {
    assert_true(leat_tensor_data(&value, const float)[i] == wanted[i]);
  }
  leat_tensor_release(&value);
}

static void a_static_table_is_filled_once(void** state) {
  scene_t s;
  scene_open(&s);
  leat_output_t table = make_table(&s, "HashTableV2", "t");
  leat_output_t keys = longs(&s, 3, (const int64_t[]){7, -7, 1});
  static const leat_attr_t kTypes[] = {
      {{"Tkey", 4}, {.kind = LEAT_ATTR_TYPE, .type = LEAT_DTYPE_INT64}},
      {{"Tval", 4}, {.kind = LEAT_ATTR_TYPE, .type = LEAT_DTYPE_FLOAT}}};
  int32_t fill = scene_node(&s, "InitializeTableV2", "", "",
                            LEAT_INPUTS(table, keys, scene_floats(&s, 3, (const float[]){1, 2, 3})),
                            (leat_attrs_t){kTypes, 2});
  int32_t refill = scene_node(&s, "InitializeTableV2", "", "",
                              LEAT_INPUTS(table, longs(&s, 1, (const int64_t[]){7}),
                                          scene_floats(&s, 1, (const float[]){1})),
                              (leat_attrs_t){kTypes, 2});
  leat_output_t find = make_find(&s, table, longs(&s, 3, (const int64_t[]){-7, 8, 7}));
  leat_tensor_t none;
  scene_expect(scene_fetch(&s, find, &none), LEAT_FAILED_PRECONDITION, "not initialized");
  LEAT_EXPECT_OK(scene_target(&s, fill));
  LEAT_EXPECT_OK(scene_target(&s, fill));  // as many as there are: nothing to do
  scene_expect(scene_target(&s, refill), LEAT_FAILED_PRECONDITION, "different data");
  expect_floats(&s, find, 3, (const float[]){2, -1, 1});
  scene_close(&s);
}

static void a_table_changes_from_step_to_step(void** state) {
  scene_t s;
  scene_open(&s);
  leat_output_t table = make_table(&s, "MutableHashTableV2", "t");
  leat_output_t keys = longs(&s, 3, (const int64_t[]){1, 2, 3});
  int32_t insert =
      scene_node(&s, "LookupTableInsertV2", "", "",
                 LEAT_INPUTS(table, keys, scene_floats(&s, 3, (const float[]){10, 20, 30})),
                 in_out());
  int32_t take = scene_node(&s, "LookupTableRemoveV2", "", "",
                            LEAT_INPUTS(table, longs(&s, 2, (const int64_t[]){2, 9})),
                            LEAT_ATTRS(LEAT_TYPE("Tin", LEAT_DTYPE_INT64)));
  leat_output_t find = make_find(&s, table, keys);
  expect_floats(&s, find, 3, (const float[]){-1, -1, -1});
  LEAT_EXPECT_OK(scene_target(&s, insert));
  expect_floats(&s, find, 3, (const float[]){10, 20, 30});
  LEAT_EXPECT_OK(scene_target(&s, take));
  expect_floats(&s, find, 3, (const float[]){10, -1, 30});
  scene_close(&s);
}

enum { MANY = 5000 };

// Keys far apart and close by, through all growth of the table.
static void many_keys_are_found(void** state) {
  scene_t s;
  scene_open(&s);
  int64_t* names = calloc(MANY, sizeof *names);
  float* numbers = calloc(MANY, sizeof *numbers);
  for (int i = 0; i < MANY; ++i) {
    names[i] = i % 2 ? i : (int64_t)i << 40;
    numbers[i] = (float)i;
  }
  leat_output_t table = make_table(&s, "MutableHashTableV2", "t");
  leat_output_t keys = longs(&s, MANY, names);
  int32_t insert = scene_node(&s, "LookupTableInsertV2", "", "",
                              LEAT_INPUTS(table, keys, scene_floats(&s, MANY, numbers)), in_out());
  int32_t remove_some = scene_node(&s, "LookupTableRemoveV2", "", "",
                                   LEAT_INPUTS(table, longs(&s, MANY / 2, names)),
                                   LEAT_ATTRS(LEAT_TYPE("Tin", LEAT_DTYPE_INT64)));
  leat_output_t find = make_find(&s, table, keys);
  LEAT_EXPECT_OK(scene_target(&s, insert));
  expect_floats(&s, find, MANY, numbers);
  LEAT_EXPECT_OK(scene_target(&s, remove_some));
  for (int i = 0; i < MANY / 2; ++i) numbers[i] = -1;
  expect_floats(&s, find, MANY, numbers);
  free(names);
  free(numbers);
  scene_close(&s);
}

// ---- Readers ------------------------------------------------------------------------------------

static leat_output_t make_work(scene_t* s) {
  static const int32_t kTypes[] = {LEAT_DTYPE_STRING};
  static const leat_attr_t kAttrs[] = {
      {{"component_types", 15},
       {.kind = LEAT_ATTR_TYPE, .is_list = true, .count = 1, .types = kTypes}},
      {{"shapes", 6}, {.kind = LEAT_ATTR_SHAPE, .is_list = true}}};
  return scene_output(s, "FIFOQueueV2", "work", "", LEAT_NO_INPUTS, (leat_attrs_t){kAttrs, 2});
}

static leat_output_t text(scene_t* s, const char* value) {
  leat_tensor_t tensor;
  LEAT_EXPECT_OK(leat_tensor_scalar_string(leat_string_view_from(value), &tensor));
  leat_output_t output = leat_build_constant(&s->b, &tensor);
  leat_tensor_release(&tensor);
  return output;
}

typedef struct step_s {
  scene_t* scene;
  leat_output_t fetch;
  leat_tensor_t value;
  leat_status_t status;
  leat_thread_t thread;
} step_t;

static void run_step(void* data) {
  step_t* step = data;
  step->status = scene_fetch(step->scene, step->fetch, &step->value);
}

static int count_threads(void) {
  int count = 0;
  DIR* tasks = opendir("/proc/self/task");
  if (!tasks) return 0;
  for (struct dirent* entry; (entry = readdir(tasks)) != NULL;) count += entry->d_name[0] != '.';
  closedir(tasks);
  return count;
}

static void reads_that_wait_for_work_take_no_thread(void** state) {
  enum { READS = 300 };
  scene_t s;
  scene_open(&s);
  char path[256];
  leat_output_t work = make_work(&s), parts[READS];
  leat_output_t reader =
      scene_output(&s, "TextLineReaderV2", "reader", "", LEAT_NO_INPUTS, LEAT_NO_ATTRS);
  for (int i = 0; i < READS; ++i) {
    int32_t read = scene_node(&s, "ReaderReadV2", "", "", LEAT_INPUTS(reader, work), LEAT_NO_ATTRS);
    parts[i] = scene_output(&s, "StringToNumber", "", "", LEAT_INPUTS(((leat_output_t){read, 1})),
                            LEAT_NO_ATTRS);
  }
  leat_output_t sum =
      scene_output(&s, "AddN", "sum", "", (leat_outputs_t){parts, READS}, LEAT_NO_ATTRS);
  snprintf(path, sizeof path, "/tmp/leat-lines-%016llx", (unsigned long long)leat_random_seed());
  int32_t put = scene_node(&s, "QueueEnqueueV2", "", "", LEAT_INPUTS(work, text(&s, path)),
                           LEAT_NO_ATTRS);
  char lines[READS * 4 + 1];
  for (int i = 0; i < READS; ++i) snprintf(lines + 4 * i, 5, "%3d\n", i);
  LEAT_EXPECT_OK(
      leat_file_write_atomically(leat_file_system_posix(), path, lines, sizeof lines - 1));
  assert_true(scene_get(&s, scene_float(&s, 1)) == 1);
  int before = count_threads();
  step_t step = {.scene = &s, .fetch = sum};
  LEAT_EXPECT_OK(leat_thread_start("step", run_step, &step, &step.thread));
  leat_clock_sleep_ns(50000000);
  assert_in_range(count_threads(), 0, before + 1 + 8);  // the client's, and the pool's
  LEAT_EXPECT_OK(scene_target(&s, put));
  leat_thread_join(step.thread);
  LEAT_EXPECT_OK(step.status);
  assert_true(leat_tensor_data(&step.value, const float)[0] == READS * (READS - 1) / 2);
  leat_tensor_release(&step.value);
  scene_close(&s);
  LEAT_EXPECT_OK(leat_file_system_posix()->vtable->remove(leat_file_system_posix(), path));
}

static void a_read_ends_with_its_queue(void** state) {
  scene_t s;
  scene_open(&s);
  leat_output_t work = make_work(&s);
  leat_output_t reader =
      scene_output(&s, "TextLineReaderV2", "reader", "", LEAT_NO_INPUTS, LEAT_NO_ATTRS);
  leat_output_t key =
      scene_output(&s, "ReaderReadV2", "", "", LEAT_INPUTS(reader, work), LEAT_NO_ATTRS);
  int32_t put = scene_node(&s, "QueueEnqueueV2", "", "",
                           LEAT_INPUTS(work, text(&s, "/no/such/file")), LEAT_NO_ATTRS);
  int32_t end = scene_node(&s, "QueueCloseV2", "", "", LEAT_INPUTS(work), LEAT_NO_ATTRS);
  leat_tensor_t none;
  LEAT_EXPECT_OK(scene_target(&s, put));
  scene_expect(scene_fetch(&s, key, &none), LEAT_NOT_FOUND, "/no/such/file");
  step_t step = {.scene = &s, .fetch = key};
  LEAT_EXPECT_OK(leat_thread_start("step", run_step, &step, &step.thread));
  leat_clock_sleep_ns(20000000);
  LEAT_EXPECT_OK(scene_target(&s, end));
  leat_thread_join(step.thread);
  scene_expect(step.status, LEAT_OUT_OF_RANGE, "closed");
  scene_close(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_static_table_is_filled_once),
      cmocka_unit_test(a_table_changes_from_step_to_step),
      cmocka_unit_test(many_keys_are_found),
      cmocka_unit_test(reads_that_wait_for_work_take_no_thread),
      cmocka_unit_test(a_read_ends_with_its_queue),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
