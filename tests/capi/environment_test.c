// The small headers of TensorFlow's C API that do not touch graphs: env.h (files, time, threads,
// shared libraries), logging.h and tf_shape.h. Plugins use them instead of the operating system, so
// the codes of errors matter: a directory that exists, one that is not empty, a file that is not
// there. Deleting a tree must not follow a symbolic link out of it. Logging is switched off before
// a line is logged, since the test's output belongs to cmocka.
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "capi/kit.h"
#include "leat/files.h"
#include "tensorflow/c/env.h"
#include "tensorflow/c/logging.h"
#include "tensorflow/c/tf_shape.h"

static int count_of(TF_StringStream* list) {
  const char* name = NULL;
  int count = 0;
  while (TF_StringStreamNext(list, &name)) count += name[0] != 0;
  assert_null(name);
  TF_StringStreamDone(list);
  return count;
}

static void test_files(void** state) {
  TF_Status* s = TF_NewStatus();
  char file[400], link_path[300], other[300];
  char* directory = TF_GetTempFileName("_env");
  assert_true(strcmp(directory + strlen(directory) - 4, "_env") == 0);
  TF_CreateDir(directory, s);
  kit_ok(s);
  TF_CreateDir(directory, s);
  kit_expect(s, TF_ALREADY_EXISTS);
  snprintf(file, sizeof file, "%s/file", directory);
  snprintf(link_path, sizeof link_path, "%s/link", directory);
  snprintf(other, sizeof other, "%s_other", directory);
  TF_WritableFileHandle* handle = NULL;
  TF_NewWritableFile(file, &handle, s);
  kit_ok(s);
  TF_AppendWritableFile(handle, "hello ", 6, s);
  TF_AppendWritableFile(handle, "you", 3, s);
  TF_FlushWritableFile(handle, s);
  TF_SyncWritableFile(handle, s);
  kit_ok(s);
  TF_CloseWritableFile(handle, s);
  kit_ok(s);
  TF_FileStatistics stats = {0};
  TF_FileStat(file, &stats, s);
  kit_ok(s);
  assert_true(stats.length == 9 && !stats.is_directory && stats.mtime_nsec > 0);
  TF_DeleteDir(file, s);
  kit_expect(s, TF_FAILED_PRECONDITION);
  TF_DeleteFile(directory, s);
  kit_expect(s, TF_FAILED_PRECONDITION);
  TF_DeleteDir(directory, s);
  kit_expect(s, TF_FAILED_PRECONDITION);  // not empty
  assert_int_equal(count_of(TF_GetChildren(directory, s)), 1);
  kit_ok(s);
  assert_null(TF_GetChildren("/no/such/place", s));
  kit_expect(s, TF_NOT_FOUND);
  // What a link leads to stays.
  TF_CreateDir(other, s);
  assert_int_equal(symlink(other, link_path), 0);
  snprintf(file, sizeof file, "%s/kept", other);
  TF_NewWritableFile(file, &handle, s);
  TF_CloseWritableFile(handle, s);
  int64_t files = -1, directories = -1;
  TF_DeleteRecursively(directory, &files, &directories, s);
  kit_ok(s);
  assert_true(files == 0 && directories == 0);
  TF_FileStat(directory, &stats, s);
  kit_expect(s, TF_NOT_FOUND);
  TF_DeleteFile(file, s);
  kit_ok(s);
  TF_DeleteDir(other, s);
  kit_ok(s);
  TF_DeleteRecursively(directory, &files, &directories, s);
  kit_expect(s, TF_NOT_FOUND);
  TF_NewWritableFile(NULL, &handle, s);
  kit_expect(s, TF_INVALID_ARGUMENT);
  assert_null(handle);
  TF_CreateDir("", s);
  kit_expect(s, TF_INVALID_ARGUMENT);
  assert_true(count_of(TF_GetLocalTempDirectories()) > 0);
  TF_StringStreamDone(NULL);
  free(directory);
  TF_DeleteStatus(s);
}

// What leat/files.h adds: reading, appending, renaming and patterns.
static void test_more_of_files(void** state) {
  TF_Status* s = TF_NewStatus();
  char a[400], b[400], pattern[400], data[10];
  char* directory = TF_GetTempFileName("_more");
  TF_CreateDir(directory, s);
  snprintf(a, sizeof a, "%s/a.txt", directory);
  snprintf(b, sizeof b, "%s/b.txt", directory);
  snprintf(pattern, sizeof pattern, "%s/*.txt", directory);
  for (int i = 0; i < 2; ++i) {  // made, then written on
    TF_WritableFileHandle* handle = leat_writable_file_append(a, s);
    kit_ok(s);
    TF_AppendWritableFile(handle, i ? "def" : "abc", 3, s);
    TF_CloseWritableFile(handle, s);
    kit_ok(s);
  }
  leat_readable_file_t* file = leat_readable_file_open(a, s);
  kit_ok(s);
  assert_int_equal(leat_readable_file_read(file, 2, data, 3, s), 3);
  assert_memory_equal(data, "cde", 3);
  assert_int_equal(leat_readable_file_read(file, 5, data, sizeof data, s), 1);
  assert_int_equal(leat_readable_file_read(file, 6, data, sizeof data, s), 0);
  kit_ok(s);
  leat_readable_file_close(file);
  leat_readable_file_close(NULL);
  assert_null(leat_readable_file_open(b, s));
  kit_expect(s, TF_NOT_FOUND);
  assert_null(leat_writable_file_append("none://b", s));
  kit_expect(s, TF_UNIMPLEMENTED);

  assert_int_equal(count_of(leat_path_match(pattern, s)), 1);
  leat_path_rename(a, b, s);
  kit_ok(s);
  TF_StringStream* names = leat_path_match(pattern, s);
  const char* name = NULL;
  assert_true(TF_StringStreamNext(names, &name));
  assert_string_equal(name, b);
  TF_StringStreamDone(names);
  leat_path_rename(a, b, s);
  kit_expect(s, TF_NOT_FOUND);
  leat_path_rename(b, "", s);
  kit_expect(s, TF_INVALID_ARGUMENT);
  assert_null(leat_path_match(NULL, s));
  kit_expect(s, TF_INVALID_ARGUMENT);
  int64_t left[2];
  TF_DeleteRecursively(directory, &left[0], &left[1], s);
  free(directory);
  TF_DeleteStatus(s);
}

static void add_one(void* number) { ++*(int*)number; }

static void test_time_and_threads(void** state) {
  int number = 41;
  TF_ThreadOptions options;
  TF_DefaultThreadOptions(&options);
  assert_int_equal(options.numa_node, -1);
  TF_Thread* thread = TF_StartThread(&options, "adder", add_one, &number);
  TF_JoinThread(thread);
  assert_int_equal(number, 42);
  assert_null(TF_StartThread(&options, "none", NULL, NULL));
  TF_JoinThread(NULL);
  uint64_t seconds = TF_NowSeconds();
  assert_true(seconds > 1700000000);
  assert_true(TF_NowMicros() >= seconds * 1000000);
  assert_true(TF_NowNanos() >= seconds * 1000000000);
}

static void test_libraries(void** state) {
  TF_Status* s = TF_NewStatus();
  void* library = TF_LoadSharedLibrary("libm.so.6", s);
  kit_ok(s);
  assert_non_null(TF_GetSymbolFromLibrary(library, "cos", s));
  kit_ok(s);
  assert_null(TF_GetSymbolFromLibrary(library, "no_such_symbol", s));
  kit_expect(s, TF_NOT_FOUND);
  assert_null(TF_LoadSharedLibrary("/nowhere.so", s));
  kit_expect(s, TF_NOT_FOUND);
  assert_null(TF_LoadSharedLibrary(NULL, s));
  kit_expect(s, TF_INVALID_ARGUMENT);
  TF_DeleteStatus(s);
}

static void test_small(void** state) {
  TF_Shape* shape = TF_NewShape();
  assert_int_equal(TF_ShapeDims(shape), -1);
  assert_int_equal(TF_ShapeDimSize(shape, 0), -1);
  TF_DeleteShape(shape);
  TF_DeleteShape(NULL);
  setenv("LEAT_LOG", "off", 0);
  TF_Log(TF_INFO, "%d", 1);
  TF_Log(TF_FATAL, "the process goes on%s", "");
  TF_Log(TF_WARNING, NULL);
  TF_VLog(1, "%s", "fine");
  TF_DVLog(0, "%s", "finer");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_files),              cmocka_unit_test(test_more_of_files),
      cmocka_unit_test(test_time_and_threads),
      cmocka_unit_test(test_libraries),
      cmocka_unit_test(test_small),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
