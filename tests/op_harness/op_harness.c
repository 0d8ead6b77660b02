// Cases as cmocka tests, once per instruction set. Kernels choose their code once a process, when
// they are first asked, so the lower instruction sets run in child processes that set LEAT_ISA, and
// the parent runs the best one. A case is checked in its own type, then in each of the types that
// it lists, then its gradient. Gradients are checked in double, unless the first input is an index.
// With LEAT_BENCH the cases are timed instead and nothing is forked. What each check does is said
// in op_harness.h.
#include "op_harness/op_harness.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "op_harness/checks.h"

typedef struct case_test_s {
  leat_fixture_t* fixture;
  const leat_op_case_t* op_case;
  char name[128];
} case_test_t;

// ---- One case -----------------------------------------------------------------------------------

static bool benching(void) {
  const char* value = getenv("LEAT_BENCH");
  return value && *value && *value != '0';
}

static leat_status_t check_type(leat_fixture_t* fixture, const leat_op_case_t* c, int dtype) {
  leat_subject_t subject;
  LEAT_RETURN_IF_ERROR(leat_subject_initialize(fixture, c, dtype, &subject));
  leat_status_t status = leat_ok_status();
  if (c->code) {
    status = leat_check_error(&subject);
  } else {
    if (!c->bench_only) status = leat_check_values(&subject);
    if (!status && !c->bench_only) status = leat_check_device(&subject);
    if (!status && benching() && (c->bench || c->bench_only)) status = leat_check_speed(&subject);
  }
  leat_subject_deinitialize(&subject);
  return leat_status_annotate(status, "%s", leat_dtype_name(dtype));
}

// Gradients are checked in double, unless input 0 is constant integers: those are indices.
static leat_status_t check_gradient(leat_fixture_t* fixture, const leat_op_case_t* c) {
  leat_subject_t subject;
  int own = c->inputs[0].dtype;
  bool keeps = c->constant_inputs & 1 && !leat_dtype_in(own, LEAT_DTYPES_FLOATING);
  LEAT_RETURN_IF_ERROR(
      leat_subject_initialize(fixture, c, keeps ? own : LEAT_DTYPE_DOUBLE, &subject));
  leat_status_t status = leat_check_gradient(&subject);
  leat_subject_deinitialize(&subject);
  return status;
}

static leat_status_t check_case(leat_fixture_t* fixture, const leat_op_case_t* c) {
  int own = c->inputs[0].dtype;
  LEAT_RETURN_IF_ERROR(check_type(fixture, c, own));
  for (int dtype = 1; dtype < LEAT_DTYPE_COUNT; ++dtype) {
    if (dtype == own || !leat_dtype_in(dtype, c->types)) continue;
    LEAT_RETURN_IF_ERROR(check_type(fixture, c, dtype));
  }
  return c->gradient ? check_gradient(fixture, c) : leat_ok_status();
}

static void case_test(void** state) {
  const case_test_t* test = *state;
  char text[2048];
  leat_status_t status = check_case(test->fixture, test->op_case);
  if (!status) return;
  snprintf(text, sizeof(text), "%s", leat_status_message(status));
  leat_status_free(status);
  fail_msg("%s: %s", test->name, text);
}

// ---- All of them --------------------------------------------------------------------------------

static int run_cases(const char* file, const leat_op_case_t* cases, size_t count) {
  leat_fixture_t fixture;
  const char* wanted = getenv("LEAT_CASE");
  case_test_t* tests = calloc(count, sizeof(*tests));
  struct CMUnitTest* units = calloc(count, sizeof(*units));
  size_t unit_count = 0;
  leat_status_t status = leat_fixture_initialize(&fixture);
  if (status) {
    fprintf(stderr, "%s: the op harness failed to start: %s\n", file, leat_status_message(status));
    leat_status_free(status);
    leat_fixture_deinitialize(&fixture);
    free(tests);
    free(units);
    return 1;
  }
  for (size_t i = 0; i < count; ++i) {
    case_test_t* test = &tests[i];
    if (cases[i].bench_only && !benching()) continue;
    test->fixture = &fixture;
    test->op_case = &cases[i];
    snprintf(test->name, sizeof(test->name), "%s%s%s #%zu", cases[i].op,
             cases[i].name ? ": " : "", cases[i].name ? cases[i].name : "", i);
    if (wanted && !strstr(test->name, wanted)) continue;
    units[unit_count++] = (struct CMUnitTest){
        .name = test->name, .test_func = case_test, .initial_state = test};
  }
  int failed = _cmocka_run_group_tests(file, units, unit_count, NULL, NULL);
  leat_fixture_deinitialize(&fixture);
  free(tests);
  free(units);
  return failed != 0;
}

// Instruction sets below the best of this machine: they run in children.
static int lower_sets(const char* out_names[2]) {
  int count = 0;
  if (getenv("LEAT_ISA") || benching()) return 0;
#if defined(__x86_64__)
  __builtin_cpu_init();
  bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (has_avx2) out_names[count++] = "base";
  if (has_avx2 && __builtin_cpu_supports("avx512f")) out_names[count++] = "avx2";
#endif
  return count;
}

int leat_op_cases_main(const char* file, const leat_op_case_t* cases, size_t count) {
  const char* names[2];
  int failed = 0;
  for (int i = 0, sets = lower_sets(names); i < sets; ++i) {
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
      setenv("LEAT_ISA", names[i], 1);
      printf("LEAT_ISA=%s\n", names[i]);
      return run_cases(file, cases, count);
    }
    int result = 1;
    if (child < 0 || waitpid(child, &result, 0) < 0 || result != 0) failed = 1;
  }
  return run_cases(file, cases, count) | failed;
}
