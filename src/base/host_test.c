// An environment variable such as LEAT_MODULE_DIR decides which code is loaded, so a program that
// runs with more rights than its user must not look at it. leat_environment_get_trusted() is called
// twice for this: in this process, which has no special rights and sees the variable, and in a copy
// of this program that belongs to root, has the set-uid bit and is started by a process of another
// user. Only root can arrange that, and only on a file system that allows set-uid programs; the
// second case is skipped elsewhere. The copy reports by its exit status what it saw, including
// whether the loader of modules would have searched the folder.
#define _GNU_SOURCE
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/host.h"
#include "base/module.h"
#include "base/test.h"
#include "formats/test_directory.h"

enum { OTHER_USER = 65534, UNSEEN = 10, SEEN = 11, NOT_SECURE = 12, FAILED = 13 };

// What the set-uid copy does: whether it sees the variable, and whether a module would be looked
// for in the folder that it names.
static int look(void) {
  leat_module_t module = {.name = "absent", .struct_size = 8, .package = "libabsent1"};
  const void* table;
  if (!getauxval(AT_SECURE)) return NOT_SECURE;
  if (leat_environment_get_trusted("LEAT_MODULE_DIR")) return SEEN;
  leat_status_t status = leat_module_load(&module, &table);
  bool is_named = strstr(leat_status_message(status), "/chosen/by/user") != NULL;
  leat_status_free(status);
  return is_named ? SEEN : UNSEEN;
}

static void an_ordinary_program_sees_them(void** state) {
  setenv("LEAT_TRUSTED", "value", 1);
  assert_string_equal(leat_environment_get_trusted("LEAT_TRUSTED"), "value");
  unsetenv("LEAT_TRUSTED");
  assert_null(leat_environment_get_trusted("LEAT_TRUSTED"));
}

// The set-uid bit must not be set on the test itself, so a copy in the test's directory gets it.
static void copy_of_this_program(const char* path) {
  char self[PATH_MAX], buffer[1 << 16];
  ssize_t size = readlink("/proc/self/exe", self, sizeof self - 1);
  assert_true(size > 0);
  self[size] = 0;
  FILE *from = fopen(self, "rb"), *to = fopen(path, "wb");
  assert_true(from && to);
  size_t count;
  while ((count = fread(buffer, 1, sizeof buffer, from)) > 0) {
    assert_int_equal(fwrite(buffer, 1, count, to), count);
  }
  fclose(from);
  assert_int_equal(fclose(to), 0);
}

static void a_set_uid_program_does_not(void** state) {
  const char* path = test_path("set_uid");
  if (geteuid() != 0) skip();
  copy_of_this_program(path);
  assert_int_equal(chmod(path, 04755), 0);
  assert_int_equal(chmod(test_directory, 0755), 0);
  int child = fork();
  if (child == 0) {
    setenv("LEAT_MODULE_DIR", "/chosen/by/user", 1);
    if (setgid(OTHER_USER) || setuid(OTHER_USER)) _exit(FAILED);
    execl(path, path, "look", (char*)NULL);
    _exit(FAILED);
  }
  int how = 0;
  waitpid(child, &how, 0);
  assert_true(WIFEXITED(how));
  if (WEXITSTATUS(how) == NOT_SECURE) skip();
  assert_int_equal(WEXITSTATUS(how), UNSEEN);
}

// Whoever asks, the machine's run is one line of text; a text of the user's takes its place.
static void the_run_of_the_host_has_a_name(void** state) {
  char run[64], again[64], chosen[8];
  unsetenv("LEAT_HOST");
  leat_host_run(run, sizeof run);
  leat_host_run(again, sizeof again);
  assert_true(strlen(run) > 0);
  assert_null(strchr(run, '\n'));
  assert_string_equal(run, again);
  setenv("LEAT_HOST", "rack 1 of 2", 1);
  leat_host_run(chosen, sizeof chosen);
  assert_string_equal(chosen, "rack 1 ");
  setenv("LEAT_HOST", "", 1);
  leat_host_run(again, sizeof again);
  assert_string_equal(run, again);
  unsetenv("LEAT_HOST");
}

int main(int argc, char** argv) {
  if (argc > 1 && !strcmp(argv[1], "look")) return look();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(an_ordinary_program_sees_them),
      cmocka_unit_test(a_set_uid_program_does_not),
      cmocka_unit_test(the_run_of_the_host_has_a_name),
  };
  return cmocka_run_group_tests(tests, test_directory_make, test_directory_remove);
}
