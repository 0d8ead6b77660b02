// The saver: when it saves, what it keeps, and what is found after a crash. Most tests train a
// model of one variable, save it, and look at the files and at the values that a new session
// restores. For the crash this program starts itself again as a child that saves without end, kills
// it at moments that differ, and restores what it left: all elements of the variable are equal in
// every save, so that a mixture of two saves would show. Deaths at each single call of the file
// system are tested in checkpoint_crash_test.c, and failing calls in fault_test.c.
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fault.h"
#include "client/model_kit.h"
#include "leat/files.h"
#include "scratch.h"
#include "tensorflow/c/env.h"

typedef struct model_s {
  TF_Output w, step;
  TF_Operation *train, *init;
  leat_saver_t* saver;
} model_t;

static model_t m;

extern char** environ;  // POSIX has it, but in no header

static void build(leat_saver_options_t options) {
  m.w = leat_variable(kit.scope, "w", TF_FLOAT, 2, (int64_t[]){100, 3},
                      leat_initializer_constant(1));
  m.step = leat_variable_untrained(kit.scope, "step", TF_INT64, 0, NULL,
                                   leat_initializer_constant(0));
  TF_Output handle = leat_variable_at(kit.scope, 1);
  TF_Output one = leat_cast(kit.scope, leat_constant_int(kit.scope, 1), TF_INT64);
  TF_Operation* count = leat_operation(kit.scope, "AssignAdd", NULL,
                                       (TF_Output[]){handle, one}, 2, NULL, 0);
  TF_Operation* down = leat_minimize(kit.scope, leat_optimizer_adam(0.01f),
                                     leat_mean(kit.scope, m.w));
  m.train = leat_group(kit.scope, "step_and_train", (TF_Operation*[]){count, down}, 2);
  m.init = leat_variables_initializer(kit.scope);
  m.saver = leat_saver_create(kit.scope, "ckpt", options);
  kit_ok(leat_scope_status(kit.scope));
  model_kit_run(m.init);
}

static int set_up(void** state) { return scratch_set_up(state) || model_kit_set_up(state); }

static int tear_down(void** state) {
  leat_saver_free(m.saver);
  m = (model_t){.saver = NULL};
  return model_kit_tear_down(state) || scratch_tear_down(state);
}

static double first_of(TF_Output output) {
  double values[300];
  model_kit_read(output, values, 300);
  return values[0];
}

static void save(int64_t step) {
  leat_saver_save(m.saver, kit.session, step, kit.status);
  kit_ok(kit.status);
}

static int64_t restore(void) {
  int64_t step = -1;
  leat_saver_restore_latest(m.saver, kit.session, &step, kit.status);
  kit_ok(kit.status);
  return step;
}

// The same model trained on from a checkpoint, in a session that was never initialised, gives the
// same numbers as without a break.
static void test_restore(void** state) {
  build((leat_saver_options_t){.keep = 2});
  for (int i = 0; i < 5; ++i) model_kit_run(m.train);
  save(5);
  double at_five = first_of(m.w);
  for (int i = 0; i < 5; ++i) model_kit_run(m.train);
  double at_ten = first_of(m.w);
  model_kit_reopen();
  model_kit_run(leat_group(kit.scope, NULL, NULL, 0));
  assert_int_equal(restore(), 5);
  assert_true(first_of(m.w) == at_five);
  assert_true(model_kit_scalar(m.step) == 5);
  for (int i = 0; i < 5; ++i) model_kit_run(m.train);
  assert_true(first_of(m.w) == at_ten);
}

// Another program, which has made only the graph.
static void test_other_graph(void** state) {
  build((leat_saver_options_t){.keep = 2});
  for (int i = 0; i < 3; ++i) model_kit_run(m.train);
  save(3);
  double value = first_of(m.w);
  leat_saver_free(m.saver);
  model_kit_tear_down(NULL);
  model_kit_set_up(NULL);
  build((leat_saver_options_t){.keep = 2});
  assert_int_equal(restore(), 3);
  assert_true(first_of(m.w) == value);
}

static void test_every_steps(void** state) {
  build((leat_saver_options_t){.keep = 3, .every_steps = 10});
  for (int64_t step = 1; step <= 45; ++step) {
    int saved = leat_saver_step(m.saver, kit.session, step, kit.status);
    kit_ok(kit.status);
    assert_int_equal(saved, step % 10 == 0);
  }
  assert_false(scratch_has("ckpt/model.ckpt-10.index"));
  assert_true(scratch_has("ckpt/model.ckpt-20.index"));
  assert_true(scratch_has("ckpt/model.ckpt-40.data-00000-of-00001"));
  assert_int_equal(scratch_count("ckpt/"), 3 * 2 + 1);
  assert_int_equal(restore(), 40);
  // Steps count from the restored one.
  assert_int_equal(leat_saver_step(m.saver, kit.session, 49, kit.status), 0);
  assert_int_equal(leat_saver_step(m.saver, kit.session, 50, kit.status), 1);
}

// A saver that was made or has saved since |begin_ns| saves at |step| only when its time has
// passed, which it may have on a busy machine. Returns whether it saved.
static int step_too_early(int64_t step, int64_t begin_ns) {
  const int saved = leat_saver_step(m.saver, kit.session, step, kit.status);
  kit_ok(kit.status);
  if (saved) assert_true(leat_clock_now_ns() - begin_ns >= 150000000);
  return saved;
}

static void test_every_seconds(void** state) {
  int64_t begin_ns = leat_clock_now_ns();
  build((leat_saver_options_t){.every_seconds = 0.15});
  int64_t last_ns = leat_clock_now_ns();
  if (step_too_early(1, begin_ns)) last_ns = leat_clock_now_ns();
  leat_clock_sleep_ns(last_ns + 200000000 - leat_clock_now_ns());
  begin_ns = leat_clock_now_ns();
  assert_int_equal(leat_saver_step(m.saver, kit.session, 2, kit.status), 1);
  kit_ok(kit.status);
  const int saved = step_too_early(3, begin_ns);
  assert_int_equal(restore(), 2 + saved);
}

static void test_never(void** state) {
  build((leat_saver_options_t){.keep = 1});
  assert_int_equal(leat_saver_step(m.saver, kit.session, 1000000, kit.status), 0);
  kit_ok(kit.status);
  assert_false(scratch_has("ckpt"));
  int64_t step = 77;
  leat_saver_restore_latest(m.saver, kit.session, &step, kit.status);
  kit_expect(kit.status, TF_NOT_FOUND);
  assert_int_equal(step, 77);
  assert_true(first_of(m.w) == 1);
}

static void test_saved_twice(void** state) {
  build((leat_saver_options_t){.keep = 2});
  save(1);
  model_kit_run(m.train);
  save(1);  // over the first
  double value = first_of(m.w);
  model_kit_run(m.train);
  assert_int_equal(restore(), 1);
  assert_true(first_of(m.w) == value);
  assert_int_equal(scratch_count("ckpt/model"), 2);
}

static void test_lost_newest(void** state) {
  build((leat_saver_options_t){.keep = 3});
  for (int64_t step = 1; step <= 3; ++step) {
    model_kit_run(m.train);
    save(step);
  }
  assert_int_equal(unlink("ckpt/model.ckpt-3.index"), 0);
  assert_int_equal(restore(), 2);
  assert_true(model_kit_scalar(m.step) == 2);
  assert_int_equal(unlink("ckpt/model.ckpt-2.index"), 0);
  assert_int_equal(unlink("ckpt/model.ckpt-1.index"), 0);
  leat_saver_restore_latest(m.saver, kit.session, NULL, kit.status);
  kit_expect_text(kit.status, TF_NOT_FOUND, "model.ckpt-3");
}

static void test_content(void** state) {
  build((leat_saver_options_t){.keep = 2});
  save(9);
  leat_checkpoint_t* c = leat_checkpoint_open("ckpt/model.ckpt-9", kit.status);
  kit_ok(kit.status);
  TF_DataType dtype;
  int64_t dims[2];
  int found = 0;
  for (size_t i = 0; i < leat_checkpoint_count(c); ++i) {
    if (strcmp(leat_checkpoint_name(c, i), "w")) continue;
    assert_int_equal(leat_checkpoint_shape(c, i, &dtype, dims, 2), 2);
    assert_int_equal(dtype, TF_FLOAT);
    assert_int_equal(dims[0], 100);
    assert_int_equal(dims[1], 3);
    found = 1;
  }
  assert_true(found);
  assert_int_equal(leat_checkpoint_count(c), leat_variable_count(kit.scope));
  assert_null(leat_checkpoint_name(c, 1000));
  assert_int_equal(leat_checkpoint_shape(c, 1000, NULL, NULL, 0), -1);
  TF_Tensor* w = leat_checkpoint_read(c, "w", kit.status);
  kit_ok(kit.status);
  assert_true(((float*)TF_TensorData(w))[299] == 1);
  TF_DeleteTensor(w);
  assert_null(leat_checkpoint_read(c, "nobody", kit.status));
  kit_expect(kit.status, TF_NOT_FOUND);
  leat_checkpoint_close(c);
}

static void test_no_place(void** state) {
  build((leat_saver_options_t){.keep = 2});
  scratch_write_text("ckpt", "a file where the directory should be");
  leat_saver_save(m.saver, kit.session, 1, kit.status);
  assert_int_not_equal(TF_GetCode(kit.status), TF_OK);
  // The session works on, and so does the saver when there is place.
  model_kit_run(m.train);
  assert_int_equal(unlink("ckpt"), 0);
  save(2);
  assert_int_equal(restore(), 2);
}

static void test_no_variables(void** state) {
  assert_null(leat_saver_create(kit.scope, "ckpt", (leat_saver_options_t){.keep = 1}));
  kit_expect_text(leat_scope_status(kit.scope), TF_INVALID_ARGUMENT, "no variables");
  leat_saver_free(NULL);
}

// ---- A failed save over a checkpoint ------------------------------------------------------------

// Two faults at once: one in the question whether the checkpoint is there, one in the save.
typedef struct fault_pair_s {
  leat_fault_t question, save;
} fault_pair_t;

static leat_status_t fail_allocation(void* data, size_t size_bytes) {
  return leat_fault_on_allocation(&((fault_pair_t*)data)->question, size_bytes);
}

static leat_status_t fail_file(void* data, const char* call, const char* path) {
  fault_pair_t* pair = data;
  leat_status_t status = leat_fault_on_file(&pair->question, call, path);
  return status ? status : leat_fault_on_file(&pair->save, call, path);
}

// Saves step 1, which is there already, where the first event of |kind| fails, which is that of the
// question, and the |nth| file call of the save. Returns whether the save had that many.
static bool fail_to_save_again(int kind, int64_t nth) {
  fault_pair_t pair = {.question = {.kinds = kind}, .save = {.kinds = LEAT_FAULT_FILE}};
  leat_observer_t observer = {&pair, fail_allocation, fail_file, NULL, NULL};
  atomic_init(&pair.question.events_left, 1);
  atomic_init(&pair.save.events_left, nth);
  leat_observer_install(&observer);
  leat_saver_save(m.saver, kit.session, 1, kit.status);
  leat_observer_install(NULL);
  assert_true(atomic_load(&pair.question.events_left) <= 0);
  return atomic_load(&pair.save.events_left) <= 0;
}

// A save that fails removes the files that it left, but not those of an older checkpoint of the
// same name. Where memory or a failing call hides whether there is one, it removes nothing.
static void test_unknown_whether_new(void** state) {
  build((leat_saver_options_t){.keep = 2});
  const int kKinds[] = {LEAT_FAULT_ALLOCATION, LEAT_FAULT_FILE};
  for (size_t k = 0; k < sizeof kKinds / sizeof *kKinds; ++k) {
    int failures = 0;
    for (int64_t n = 1;; ++n) {
      save(1);
      save(2);  // the newest, which the state file protects
      if (!fail_to_save_again(kKinds[k], n)) break;
      failures += TF_GetCode(kit.status) != TF_OK;
      leat_checkpoint_t* old = leat_checkpoint_open("ckpt/model.ckpt-1", kit.status);
      kit_ok(kit.status);
      TF_DeleteTensor(leat_checkpoint_read(old, "w", kit.status));
      kit_ok(kit.status);
      leat_checkpoint_close(old);
      assert_true(n < 1000);
    }
    assert_true(failures >= 3);
  }
}

// ---- Killed -------------------------------------------------------------------------------------

// Trains on from the last save and saves each step until it is killed; in every save w's elements
// are all equal.
static void save_for_ever(void) {
  int64_t step = 0;
  model_kit_set_up(NULL);
  build((leat_saver_options_t){.keep = 2});
  leat_saver_restore_latest(m.saver, kit.session, &step, kit.status);
  for (++step;; ++step) {
    leat_target_run(kit.session, m.train, kit.status);
    leat_saver_save(m.saver, kit.session, step, kit.status);
    if (TF_GetCode(kit.status) != TF_OK) _exit(1);
  }
}

// What the state file says; "" while there is none.
static void read_state(char out_text[1024]) {
  FILE* file = fopen("ckpt/checkpoint", "rb");
  size_t size = file ? fread(out_text, 1, 1023, file) : 0;
  if (file) fclose(file);
  out_text[size] = 0;
}

// This program again, told to save. It is not forked off alone: threads of sessions that ran before
// would be missing in such a child, with the locks that they hold.
static pid_t start_saving(void) {
  char* arguments[] = {"saver_test", "save", NULL};
  pid_t child;
  assert_int_equal(posix_spawn(&child, "/proc/self/exe", NULL, NULL, arguments, environ), 0);
  return child;
}

// Until the state file says something else than |before|.
static void wait_for_save(pid_t child, const char* before) {
  char now[1024];
  for (int i = 0; i < 60000; ++i) {
    read_state(now);
    if (strcmp(now, before)) return;
    assert_int_equal(waitpid(child, NULL, WNOHANG), 0);
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
  }
  fail_msg("the other process has saved nothing");
}

// A sum that tells whether the parts of the newest checkpoint belong together.
static void expect_whole_checkpoint(void) {
  double values[300];
  build((leat_saver_options_t){.keep = 2});
  int64_t step = restore();
  assert_int_equal(model_kit_read(m.w, values, 300), 300);
  for (int i = 1; i < 300; ++i) assert_true(values[i] == values[0]);
  assert_true(model_kit_scalar(m.step) == (double)step);
  leat_saver_free(m.saver);
  m.saver = NULL;
}

static void test_killed(void** state) {
  model_kit_tear_down(NULL);
  for (int i = 0; i < 12; ++i) {
    char before[1024];
    read_state(before);
    pid_t child = start_saving();
    wait_for_save(child, before);
    nanosleep(&(struct timespec){.tv_nsec = (long)(i * 2700 + 1) * 1000}, NULL);
    assert_int_equal(kill(child, SIGKILL), 0);
    int how;
    waitpid(child, &how, 0);
    assert_true(WIFSIGNALED(how));
    model_kit_set_up(NULL);
    expect_whole_checkpoint();
    model_kit_tear_down(NULL);
  }
  model_kit_set_up(NULL);
}

// The step stands behind the last dash of the checkpoint's own name, and nothing behind it.
static void test_step_of_name(void** state) {
  static const struct {
    const char* name;
    int64_t step;
  } kNames[] = {{"run-7/final", 0}, {"run-7/a-12", 12},  {"run-7/a-12b", 0},
                {"run-7/a-", 0},    {"run-7/a- 3", 0}, {"run-7/a-99999999999999999999", 0}};
  build((leat_saver_options_t){.keep = 50});
  leat_saver_operations_t operations = leat_saver_operations(m.saver);
  TF_CreateDir("run-7", kit.status);
  kit_ok(kit.status);
  leat_saver_t* saver =
      leat_saver_over(operations, "run-7", (leat_saver_options_t){.keep = 50}, kit.status);
  for (size_t i = 0; i < sizeof kNames / sizeof *kNames; ++i) {
    int64_t step = -1;
    leat_variables_save(kit.session, &operations, kNames[i].name, kit.status);
    kit_ok(kit.status);
    leat_checkpoint_publish("run-7", kNames[i].name, 50, kit.status);
    kit_ok(kit.status);
    leat_saver_restore_latest(saver, kit.session, &step, kit.status);
    kit_ok(kit.status);
    if (step != kNames[i].step) fail_msg("%s: step %lld", kNames[i].name, (long long)step);
  }
  leat_saver_free(saver);
}

int main(int argc, char** argv) {
  if (argc > 1 && !strcmp(argv[1], "save")) save_for_ever();
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      TEST(test_killed),
      TEST(test_restore),
      TEST(test_other_graph),
      TEST(test_every_steps),
      TEST(test_every_seconds),
      TEST(test_never),
      TEST(test_saved_twice),
      TEST(test_content),
      TEST(test_no_place),
      TEST(test_unknown_whether_new),
      TEST(test_no_variables),
      TEST(test_lost_newest),
      TEST(test_step_of_name),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
