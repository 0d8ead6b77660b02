// Checkpoints when the disk is full and when the process is killed in the middle of a save: what
// was saved before stays loadable, and nothing torn is ever read. A child process saves one large
// vector again and again, whose elements are all the number of the save; it is killed after a time
// that differs from round to round, and whoever loads must find a whole vector. A full disk is a
// limit on the size of files, under which writes fail as they would there. Event files and records
// are tried under the same limit. tests/client/checkpoint_crash_test.c tries each call of the file
// system in turn instead of random moments, and loses what was not synced.
#include <glob.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "capi/kit.h"
#include "leat/files.h"
#include "scratch.h"
#include "tensorflow/c/tf_tstring.h"

enum { kItems = 200000, kKills = 60 };

// A graph that saves and restores one vector under a fed prefix.
typedef struct keeper_s {
  TF_Graph* graph;
  TF_Session* session;
  TF_Status* status;
  TF_Output prefix, value, restored, parts, target;
  TF_Operation *save, *merge;
} keeper_t;

static TF_Operation* text_constant(TF_Graph* graph, const char* name, const char* text) {
  const int64_t dims[] = {1};
  TF_Tensor* tensor = TF_AllocateTensor(TF_STRING, dims, 1, sizeof(TF_TString));
  TF_TString* string = TF_TensorData(tensor);
  TF_StringInit(string);
  TF_StringCopy(string, text, strlen(text));
  return kit_const(graph, name, tensor);
}

static void keeper_open(keeper_t* k) {
  k->graph = TF_NewGraph();
  k->status = TF_NewStatus();
  TF_Output name = kit_out(text_constant(k->graph, "name", "v"), 0);
  TF_Output slices = kit_out(text_constant(k->graph, "slices", ""), 0);
  k->prefix = kit_out(kit_placeholder(k->graph, "prefix", TF_STRING), 0);
  k->value = kit_out(kit_placeholder(k->graph, "value", TF_FLOAT), 0);
  TF_OperationDescription* desc = TF_NewOperation(k->graph, "SaveV2", "save");
  TF_AddInput(desc, k->prefix);
  TF_AddInput(desc, name);
  TF_AddInput(desc, slices);
  TF_AddInputList(desc, &k->value, 1);
  k->save = kit_finish(desc);
  k->parts = kit_out(kit_placeholder(k->graph, "parts", TF_STRING), 0);
  k->target = kit_out(kit_placeholder(k->graph, "target", TF_STRING), 0);
  desc = TF_NewOperation(k->graph, "MergeV2Checkpoints", "merge");
  TF_AddInput(desc, k->parts);
  TF_AddInput(desc, k->target);
  k->merge = kit_finish(desc);
  desc = TF_NewOperation(k->graph, "RestoreV2", "restore");
  TF_AddInput(desc, k->prefix);
  TF_AddInput(desc, name);
  TF_AddInput(desc, slices);
  const TF_DataType types[] = {TF_FLOAT};
  TF_SetAttrTypeList(desc, "dtypes", types, 1);
  k->restored = kit_out(kit_finish(desc), 0);
  k->session = kit_session(k->graph);
}

static void keeper_close(keeper_t* k) {
  kit_close(k->session);
  TF_DeleteGraph(k->graph);
  TF_DeleteStatus(k->status);
}

static TF_Tensor* prefix_tensor(const char* name) {
  return kit_string(name);
}

// Saves |number|, again and again.
static TF_Code save(keeper_t* k, const char* name, float number) {
  const int64_t dims[] = {kItems};
  TF_Tensor* values[] = {prefix_tensor(name), TF_AllocateTensor(TF_FLOAT, dims, 1, kItems * 4)};
  for (int i = 0; i < kItems; ++i) ((float*)TF_TensorData(values[1]))[i] = number;
  const TF_Output feeds[] = {k->prefix, k->value};
  const TF_Operation* target = k->save;
  TF_SessionRun(k->session, NULL, feeds, values, 2, NULL, NULL, 0, &target, 1, NULL, k->status);
  TF_DeleteTensor(values[0]);
  TF_DeleteTensor(values[1]);
  return TF_GetCode(k->status);
}

// The number that is saved there, whole; -1 when nothing is.
static float load(keeper_t* k, const char* name) {
  TF_Tensor *prefix = prefix_tensor(name), *got = NULL;
  TF_SessionRun(k->session, NULL, &k->prefix, &prefix, 1, &k->restored, &got, 1, NULL, 0, NULL,
                k->status);
  TF_DeleteTensor(prefix);
  if (TF_GetCode(k->status) == TF_NOT_FOUND) return -1;
  kit_ok(k->status);
  assert_int_equal(TF_TensorElementCount(got), kItems);
  const float* items = TF_TensorData(got);
  for (int i = 1; i < kItems; ++i) assert_true(items[i] == items[0]);
  float number = items[0];
  TF_DeleteTensor(got);
  return number;
}

// ---- Killing ------------------------------------------------------------------------------------

// Saves |number| as the one part of a sharded checkpoint, and merges it.
static TF_Code save_merged(keeper_t* k, const char* name, float number) {
  if (save(k, "part", number)) return TF_GetCode(k->status);
  const int64_t dims[] = {1};
  TF_Tensor* values[] = {TF_AllocateTensor(TF_STRING, dims, 1, sizeof(TF_TString)),
                         prefix_tensor(name)};
  TF_StringInit(TF_TensorData(values[0]));
  TF_StringCopy(TF_TensorData(values[0]), "part", 4);
  const TF_Output feeds[] = {k->parts, k->target};
  const TF_Operation* target = k->merge;
  TF_SessionRun(k->session, NULL, feeds, values, 2, NULL, NULL, 0, &target, 1, NULL, k->status);
  TF_DeleteTensor(values[0]);
  TF_DeleteTensor(values[1]);
  return TF_GetCode(k->status);
}

// Saves 1, 2, 3... under two names again and again until it is killed.
static void save_for_ever(void) {
  keeper_t k;
  keeper_open(&k);
  for (int i = 1;; ++i) {
    if (i % 2 ? save(&k, "same", (float)i) : save_merged(&k, "merged", (float)i)) _exit(3);
  }
}

static void sleep_us(long us) {
  struct timespec time = {us / 1000000, us % 1000000 * 1000};
  nanosleep(&time, NULL);
}

// All that is in the folder once nobody saves any more: three checkpoints and nothing that a
// process which was killed left behind.
static void expect_no_remains(void) {
  static const char* const prefixes[] = {"old", "same", "merged", ".leat-", ""};
  static const int files[] = {2, 2, 2, 0, 6};
  for (int i = 0; i < 5; ++i) assert_int_equal(scratch_count(prefixes[i]), files[i]);
}

// First, since it forks: there is no thread yet. |old| is saved once and never touched again; the
// others are there from the first, too, and never vanish again.
static void killed_in_the_middle(void** state) {
  int pid = fork();
  if (pid == 0) {
    keeper_t k;
    keeper_open(&k);
    _exit(save(&k, "old", 42) || save(&k, "same", 1) || save_merged(&k, "merged", 1) ? 3 : 0);
  }
  int how = 0;
  waitpid(pid, &how, 0);
  assert_true(WIFEXITED(how) && WEXITSTATUS(how) == 0);
  for (int i = 0; i < kKills; ++i) {
    pid = fork();
    if (pid == 0) save_for_ever();
    sleep_us(2000 + 1117L * i % 30000);
    kill(pid, SIGKILL);
    waitpid(pid, &how, 0);
    assert_true(WIFSIGNALED(how));  // no save failed
    pid = fork();
    if (pid) {
      waitpid(pid, &how, 0);
      assert_true(WIFEXITED(how) && WEXITSTATUS(how) == 0);
      continue;
    }
    keeper_t k;
    keeper_open(&k);
    if (load(&k, "old") != 42) _exit(1);
    if (load(&k, "same") < 1 || load(&k, "merged") < 1) _exit(2);
    // The next save removes what the dead one left.
    if (save(&k, "same", 1) || save_merged(&k, "merged", 1)) _exit(3);
    _exit(0);
  }
  expect_no_remains();
}

// ---- A full disk --------------------------------------------------------------------------------

// No file may grow beyond |bytes|: a write past it fails, as on a full disk.
static void limit_files(rlim_t bytes) {
  struct rlimit limit;
  getrlimit(RLIMIT_FSIZE, &limit);
  limit.rlim_cur = bytes;
  setrlimit(RLIMIT_FSIZE, &limit);
}

static void full_disk(void** state) {
  static const rlim_t limits[] = {0, 1, 100, 4096, 100000, 799999};
  keeper_t k;
  keeper_open(&k);
  signal(SIGXFSZ, SIG_IGN);
  assert_int_equal(save(&k, "kept", 7), TF_OK);
  for (size_t i = 0; i < sizeof limits / sizeof *limits; ++i) {
    limit_files(limits[i]);
    TF_Code same = save(&k, "kept", 8), fresh = save(&k, "never", 9);
    const char* message = TF_Message(k.status);
    limit_files(RLIM_INFINITY);
    assert_int_not_equal(same, TF_OK);
    assert_int_not_equal(fresh, TF_OK);
    assert_int_not_equal(message[0], 0);
    assert_true(load(&k, "kept") == 7);    // what is to be replaced goes last
    assert_true(load(&k, "never") == -1);
  }
  assert_int_equal(save(&k, "kept", 10), TF_OK);  // there is room again
  assert_true(load(&k, "kept") == 10);
  keeper_close(&k);
}

// Events and records are added through leat/files.h while no file may grow; then there is room
// again. What was said to be written is there, and nothing after it is lost.
static void full_disk_under_events(void** state) {
  TF_Status* status = TF_NewStatus();
  leat_events_t* events = leat_events_open("logs", status);
  kit_ok(status);
  for (int i = 0; i < 20; ++i) {
    leat_events_add_scalar(events, i, "loss", i, status);
    kit_ok(status);
    if (i == 9) {
      limit_files(200);
      leat_events_flush(events, status);
      limit_files(RLIM_INFINITY);
      kit_expect_text(status, TF_RESOURCE_EXHAUSTED, "tfevents");
    }
  }
  leat_events_close(events, status);
  kit_ok(status);
  glob_t found;
  assert_int_equal(glob("logs/*tfevents*", 0, NULL, &found), 0);
  leat_records_t* records = leat_records_open(found.gl_pathv[0], status);
  size_t size;
  int count = 0;
  while (leat_records_next(records, &size, status)) ++count;
  assert_int_equal(TF_GetCode(status), TF_OUT_OF_RANGE);
  assert_int_equal(count, 1 + 20);
  leat_records_close(records);
  globfree(&found);
  TF_DeleteStatus(status);
}

static void full_disk_under_records(void** state) {
  TF_Status* status = TF_NewStatus();
  char data[100] = {0};
  size_t size;
  int written = 0, read = 0;
  leat_records_writer_t* writer = leat_records_create("records", status);
  kit_ok(status);
  for (int i = 0; i < 10; ++i) {
    limit_files(i == 4 || i == 6 ? 500 : RLIM_INFINITY);
    leat_records_write(writer, data, sizeof data, status);
    limit_files(RLIM_INFINITY);
    assert_int_equal(TF_GetCode(status), i == 4 || i == 6 ? TF_RESOURCE_EXHAUSTED : TF_OK);
    written += TF_GetCode(status) == TF_OK;
  }
  leat_records_finish(writer, status);
  kit_ok(status);
  leat_records_t* records = leat_records_open("records", status);
  while (leat_records_next(records, &size, status)) ++read;
  assert_int_equal(TF_GetCode(status), TF_OUT_OF_RANGE);
  assert_int_equal(read, written);
  leat_records_close(records);
  TF_DeleteStatus(status);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(killed_in_the_middle),
      cmocka_unit_test(full_disk),
      cmocka_unit_test(full_disk_under_events),
      cmocka_unit_test(full_disk_under_records),
  };
  return cmocka_run_group_tests(tests, scratch_set_up, scratch_tear_down);
}
