// File systems of plugins: that of examples/filesystem/ does what file systems do, and everything
// that opens files reaches it; plugins that are not in order are refused; those that have little,
// or fail, give statuses. The first is loaded as the library that users would build, under the
// scheme "memory", and passes the conformance tests of all file systems
// (base/file_system_conformance.h). For the others a second library asks this program what to
// register, so that each test can hand over tables with one thing missing or wrong. Whether a
// plugin that is refused is cleaned up again is counted as well.
#include <stdio.h>
#include <stdlib.h>

#include "base/fault.h"
#include "base/file_system_conformance.h"
#include "client/model_kit.h"
#include "leat/files.h"
#include "leat/graph.h"
#include "tensorflow/c/env.h"
#include "tensorflow/c/experimental/filesystem/filesystem_interface.h"

static void register_plugin(const char* name, TF_Status* status) {
  char path[1000];
  snprintf(path, sizeof path, "%s/lib/%s.so", getenv("LEAT_BUILD_DIR"), name);
  TF_RegisterFilesystemPlugin(path, status);
}

// ---- What opens files ---------------------------------------------------------------------------

static TF_Output text(const char* value) { return leat_constant_string(kit.scope, value); }

static TF_Output add_op(const char* op, const TF_Output* inputs, int count) {
  return (TF_Output){leat_operation(kit.scope, op, NULL, inputs, count, NULL, 0), 0};
}

static TF_Tensor* fetch(TF_Output output) {
  TF_Tensor* value = NULL;
  TF_SessionRun(kit.session, NULL, NULL, NULL, 0, &output, &value, 1, NULL, 0, NULL, kit.status);
  return value;
}

static void expect_texts(TF_Output output, const char* const* expected, int count) {
  TF_Tensor* value = fetch(output);
  kit_ok(kit.status);
  assert_int_equal(TF_TensorElementCount(value), count);
  const TF_TString* items = TF_TensorData(value);
  for (int i = 0; i < count; ++i) {
    assert_int_equal(TF_StringGetSize(&items[i]), strlen(expected[i]));
    assert_memory_equal(TF_StringGetDataPointer(&items[i]), expected[i], strlen(expected[i]));
  }
  TF_DeleteTensor(value);
}

static void put_file(const char* path, const char* content) {
  TF_WritableFileHandle* file = NULL;
  TF_NewWritableFile(path, &file, kit.status);
  kit_ok(kit.status);
  TF_AppendWritableFile(file, content, strlen(content), kit.status);
  TF_FlushWritableFile(file, kit.status);
  TF_SyncWritableFile(file, kit.status);
  kit_ok(kit.status);
  TF_CloseWritableFile(file, kit.status);
  kit_ok(kit.status);
}

static void ops_reach_the_file_system(void** state) {
  TF_CreateDir("memory:///ops", kit.status);
  kit_ok(kit.status);
  put_file("memory:///ops/b.txt", "one\ntwo\n");
  TF_Operation* written =
      add_op("WriteFile", (TF_Output[]){text("memory:///ops/new/a.txt"), text("new")}, 2).oper;
  TF_Output read = add_op("ReadFile", (TF_Output[]){text("memory:///ops/new/../b.txt")}, 1);
  TF_Output found = add_op("MatchingFiles", (TF_Output[]){text("memory:///ops/*.t?t")}, 1);
  TF_Output deep = add_op("MatchingFiles", (TF_Output[]){text("memory:///*/new/*")}, 1);
  TF_Output missing = add_op("ReadFile", (TF_Output[]){text("memory:///ops/none")}, 1);
  TF_Output unknown = add_op("ReadFile", (TF_Output[]){text("nothing://ops/none")}, 1);
  model_kit_run(written);
  expect_texts(read, (const char*[]){"one\ntwo\n"}, 1);
  expect_texts(found, (const char*[]){"memory:///ops/b.txt"}, 1);
  expect_texts(deep, (const char*[]){"memory:///ops/new/a.txt"}, 1);
  assert_null(fetch(missing));
  kit_expect_text(kit.status, TF_NOT_FOUND, "memory:///ops/none");
  assert_null(fetch(unknown));
  kit_expect_text(kit.status, TF_UNIMPLEMENTED,
                  "File system scheme 'nothing' not implemented (file: 'nothing://ops/none')");
}

static void readers_reach_the_file_system(void** state) {
  const char* names = "memory:///lines";
  put_file(names, "first\nsecond\n");
  TF_DataType dtype = TF_STRING;
  leat_attribute_t types = leat_attribute_types("component_types", 1, &dtype);
  TF_Output queue = {leat_operation(kit.scope, "FIFOQueueV2", NULL, NULL, 0, &types, 1), 0};
  TF_Operation* fill = add_op("QueueEnqueueV2", (TF_Output[]){queue, text(names)}, 2).oper;
  TF_Output reader = add_op("TextLineReaderV2", NULL, 0);
  TF_Output line = add_op("ReaderReadV2", (TF_Output[]){reader, queue}, 2);
  model_kit_run(fill);
  expect_texts(line, (const char*[]){"memory:///lines:1"}, 1);
  line.index = 1;
  expect_texts(line, (const char*[]){"second"}, 1);

  size_t size = 0;
  leat_records_writer_t* writer = leat_records_create("memory:///records", kit.status);
  leat_records_write(writer, "a record", 8, kit.status);
  leat_records_finish(writer, kit.status);
  kit_ok(kit.status);
  leat_records_t* records = leat_records_open("memory:///records", kit.status);
  assert_memory_equal(leat_records_next(records, &size, kit.status), "a record", 8);
  assert_null(leat_records_next(records, &size, kit.status));
  kit_expect(kit.status, TF_OUT_OF_RANGE);
  leat_records_close(records);
}

static void checkpoints_and_models_reach_the_file_system(void** state) {
  double values[2];
  int64_t step = 0;
  TF_Output x = leat_placeholder(kit.scope, "x", TF_FLOAT, 0, NULL);
  TF_Output w = model_kit_variable("w", TF_FLOAT, 2, (double[]){3, 4});
  TF_Output y = leat_multiply(kit.scope, x, w);
  TF_Operation* change = leat_minimize(kit.scope, leat_optimizer_sgd(1), leat_mean(kit.scope, w));
  leat_saver_t* saver =
      leat_saver_create(kit.scope, "memory:///run", (leat_saver_options_t){.keep = 2});
  for (step = 1; step <= 3; ++step) {
    leat_saver_save(saver, kit.session, step, kit.status);
    kit_ok(kit.status);
  }
  assert_false(leat_file_exists(leat_file_system_default(), "memory:///run/model.ckpt-1.index"));
  model_kit_run(change);
  assert_int_equal(model_kit_read(w, values, 2), 2);
  assert_true(values[0] == 2.5);
  leat_saver_restore_latest(saver, kit.session, &step, kit.status);
  kit_ok(kit.status);
  assert_int_equal(step, 3);
  model_kit_read(w, values, 2);
  assert_true(values[0] == 3 && values[1] == 4);

  leat_model_tensor_t in = {"x", x}, out = {"y", y};
  leat_model_signature_t serve = {"serving_default", NULL, &in, 1, &out, 1};
  leat_model_t model = {
      .signatures = &serve, .signature_count = 1, .saver = leat_saver_operations(saver)};
  leat_saved_model_write("memory:///export/1", kit.graph, kit.session, &model, kit.status);
  kit_ok(kit.status);
  TF_Graph* graph = TF_NewGraph();
  TF_SessionOptions* options = TF_NewSessionOptions();
  const char* tag = "serve";
  TF_Session* session = TF_LoadSessionFromSavedModel(options, NULL, "memory:///export/1", &tag, 1,
                                                     graph, NULL, kit.status);
  kit_ok(kit.status);
  TF_Output loaded_x = {TF_GraphOperationByName(graph, "x"), 0};
  TF_Output loaded_y = {TF_GraphOperationByName(graph, TF_OperationName(y.oper)), 0};
  TF_Tensor* result = kit_run(session, loaded_x, kit_float(2), loaded_y);
  assert_true(((float*)TF_TensorData(result))[1] == 8);
  TF_DeleteTensor(result);
  kit_close(session);
  TF_DeleteSessionOptions(options);
  TF_DeleteGraph(graph);
  leat_saver_free(saver);
}

static void the_environment_reaches_the_file_system(void** state) {
  TF_FileStatistics stats;
  const char* name = NULL;
  int64_t files = -1, directories = -1;
  TF_CreateDir("memory:///env", kit.status);
  TF_CreateDir("memory:///env/deep", kit.status);
  put_file("memory:///env/deep/f", "12345");
  TF_FileStat("memory:///env/deep/f", &stats, kit.status);
  kit_ok(kit.status);
  assert_true(stats.length == 5 && !stats.is_directory && stats.mtime_nsec > 0);
  TF_StringStream* names = TF_GetChildren("memory:///env", kit.status);
  assert_true(TF_StringStreamNext(names, &name));
  assert_string_equal(name, "deep");
  assert_false(TF_StringStreamNext(names, &name));
  TF_StringStreamDone(names);
  TF_DeleteDir("memory:///env", kit.status);
  kit_expect(kit.status, TF_FAILED_PRECONDITION);
  TF_DeleteFile("memory:///env/deep", kit.status);
  kit_expect(kit.status, TF_FAILED_PRECONDITION);
  TF_DeleteRecursively("memory:///env", &files, &directories, kit.status);
  kit_ok(kit.status);
  assert_true(files == 0 && directories == 0);
  TF_FileStat("memory:///env", &stats, kit.status);
  kit_expect_text(kit.status, TF_NOT_FOUND, "memory:///env");
  TF_CreateDir("nothing://env", kit.status);
  kit_expect(kit.status, TF_UNIMPLEMENTED);
}

static void paths_of_the_machine_have_the_scheme_file(void** state) {
  char path[64] = "file:///tmp/leat_filesystem_test";
  put_file(path, "here");
  leat_file_stat_t stat;
  LEAT_EXPECT_OK(leat_file_system_posix()->vtable->stat(NULL, path + 7, &stat));
  assert_int_equal(stat.size_bytes, 4);
  expect_texts(add_op("MatchingFiles", (TF_Output[]){text("file:///tmp/leat_filesystem_t?st")}, 1),
               (const char*[]){path}, 1);
  leat_file_system_t* fs = leat_file_system_default();
  LEAT_EXPECT_CODE(LEAT_UNIMPLEMENTED, fs->vtable->rename(fs, path, "memory:///moved"));
  LEAT_EXPECT_OK(fs->vtable->rename(fs, path, path + 7));
  TF_DeleteFile(path, kit.status);
  kit_ok(kit.status);
}

static leat_status_t use_files(void) {
  leat_file_system_t* fs = leat_file_system_default();
  char* data = NULL;
  size_t size = 0;
  int count = 0;
  LEAT_RETURN_IF_ERROR(leat_file_write_atomically(fs, "memory:///fault/f", "x", 1));
  LEAT_RETURN_IF_ERROR(leat_file_read_all(fs, "memory:///fault/f", leat_allocator_system(), &data,
                                          &size));
  leat_allocator_free(leat_allocator_system(), data);
  LEAT_RETURN_IF_ERROR(leat_file_match(fs, "memory:///fault/*", count_name, &count));
  return fs->vtable->remove(fs, "memory:///fault/f");
}

// For the leak checkers: every way out frees what it took.
static void lack_of_memory_is_reported_or_harmless(void** state) {
  TF_CreateDir("memory:///fault", kit.status);
  kit_ok(kit.status);
  for (int64_t n = 1;; ++n) {
    leat_fault_t fault;
    leat_fault_install(&fault, LEAT_FAULT_ALLOCATION, n);
    leat_status_t status = use_files();
    bool met = leat_fault_remove(&fault);
    leat_status_free(status);
    if (met) continue;
    assert_null(status);
    break;
  }
}

// ---- Plugins that are not in order --------------------------------------------------------------

static TF_FilesystemPluginOps rows[2];  // what the plugin tells; the tables' copies are made there
static size_t row_count;
static void (*plugin_free)(void*);

static void* copy(const void* table, size_t size) {
  return table ? memcpy(malloc(size), table, size) : NULL;
}

// What a plugin does at its registration: it fills in copies of |rows|, which the library owns and
// gives back through the plugin's own free.
static void tell(TF_FilesystemPluginInfo* info) {
  info->plugin_memory_allocate = malloc;
  info->plugin_memory_free = plugin_free;
  if (!plugin_free) return;  // who should free them?
  info->num_schemes = row_count;
  info->ops = copy(rows, sizeof rows);
  for (size_t i = 0; i < row_count; ++i) {
    TF_FilesystemPluginOps* p = &info->ops[i];
    p->scheme = p->scheme ? copy(p->scheme, strlen(p->scheme) + 1) : NULL;
    p->filesystem_ops = copy(p->filesystem_ops, sizeof *p->filesystem_ops);
    p->random_access_file_ops = copy(p->random_access_file_ops, sizeof(TF_RandomAccessFileOps));
    p->writable_file_ops = copy(p->writable_file_ops, sizeof *p->writable_file_ops);
    p->read_only_memory_region_ops =
        copy(p->read_only_memory_region_ops, sizeof(TF_ReadOnlyMemoryRegionOps));
  }
}

static TF_FilesystemOps table;
static TF_RandomAccessFileOps reader_table;
static TF_WritableFileOps writer_table;
static TF_ReadOnlyMemoryRegionOps region_table;
static int initialized, cleaned;

static void start(TF_Filesystem* fs, TF_Status* status) { ++initialized; }
static void refuse_to_start(TF_Filesystem* fs, TF_Status* status) {
  TF_SetStatus(status, TF_UNAVAILABLE, "the shelf is locked");
}
static void stop(TF_Filesystem* fs) { ++cleaned; }
static void close_nothing_r(TF_RandomAccessFile* file) {}
static void close_nothing_w(TF_WritableFile* file) {}
static void close_nothing_m(TF_ReadOnlyMemoryRegion* region) {}

// The least that a plugin must offer for |scheme|; a case then takes away or adds one thing.
static void prepare(const char* scheme) {
  table = (TF_FilesystemOps){.init = start, .cleanup = stop};
  reader_table = (TF_RandomAccessFileOps){.cleanup = close_nothing_r};
  writer_table = (TF_WritableFileOps){.cleanup = close_nothing_w};
  region_table = (TF_ReadOnlyMemoryRegionOps){.cleanup = close_nothing_m};
  rows[0] = (TF_FilesystemPluginOps){.scheme = (char*)scheme, .filesystem_ops = &table};
  TF_SetFilesystemVersionMetadata(&rows[0]);
  row_count = 1;
  plugin_free = free;
  initialized = cleaned = 0;
}

static void tell_plugin(void) {
  char path[1000];
  snprintf(path, sizeof path, "%s/lib/hook_plugin.so", getenv("LEAT_BUILD_DIR"));
  void* library = TF_LoadSharedLibrary(path, kit.status);
  void (**hook)(TF_FilesystemPluginInfo*) =
      TF_GetSymbolFromLibrary(library, "hook_plugin_initialize", kit.status);
  *hook = tell;
  register_plugin("hook_plugin", kit.status);
}

#define REFUSED(change, code, text)              \
  do {                                           \
    prepare("refused");                          \
    change;                                      \
    tell_plugin();                               \
    kit_expect_text(kit.status, (code), (text)); \
    assert_int_equal(initialized, cleaned);      \
  } while (0)

static void plugins_that_are_not_in_order_are_refused(void** state) {
  const TF_Code bad = TF_FAILED_PRECONDITION;
  TF_RegisterFilesystemPlugin("/nowhere/nothing.so", kit.status);
  kit_expect_text(kit.status, TF_NOT_FOUND, "nothing.so");
  TF_RegisterFilesystemPlugin(NULL, kit.status);
  kit_expect(kit.status, TF_INVALID_ARGUMENT);
  TF_RegisterFilesystemPlugin("libm.so.6", kit.status);
  kit_expect_text(kit.status, TF_NOT_FOUND, "TF_InitPlugin");
  REFUSED(rows[0].filesystem_ops_abi = 1, bad, "Plugin ABI (1) for filesystem operations");
  REFUSED((rows[0].random_access_file_ops = &reader_table, rows[0].random_access_file_ops_abi = 7),
          bad, "Plugin ABI (7) for random access file operations doesn't match expected core ABI");
  REFUSED((rows[0].writable_file_ops = &writer_table, rows[0].writable_file_ops_abi = -1), bad,
          "writable file");
  REFUSED((rows[0].read_only_memory_region_ops = &region_table,
           rows[0].read_only_memory_region_ops_abi = 2),
          bad, "read only memory region");
  REFUSED(rows[0].filesystem_ops = NULL, bad, "without operations");
  REFUSED(table.init = NULL, bad, "`init`");
  REFUSED(table.cleanup = NULL, bad, "`cleanup`");
  REFUSED(rows[0].filesystem_ops_size = sizeof(void*), bad, "`cleanup`");  // ends after init
  REFUSED((rows[0].random_access_file_ops = &reader_table, reader_table.cleanup = NULL), bad,
          "on random access files");
  REFUSED((rows[0].writable_file_ops = &writer_table, writer_table.cleanup = NULL), bad,
          "on writable files");
  REFUSED(rows[0].read_only_memory_region_ops = &region_table, bad, "`data`");
  REFUSED(rows[0].scheme = NULL, TF_INVALID_ARGUMENT, "scheme");
  REFUSED(rows[0].scheme = "a b", TF_INVALID_ARGUMENT, "'a b'");
  REFUSED(rows[0].scheme = "x", TF_INVALID_ARGUMENT, "'x'");
  REFUSED(rows[0].scheme = "", TF_ALREADY_EXISTS, "already registered");
  REFUSED(rows[0].scheme = "file", TF_ALREADY_EXISTS, "file already registered");
  REFUSED(rows[0].scheme = "memory", TF_ALREADY_EXISTS, "memory already registered");
  REFUSED(table.init = refuse_to_start, TF_UNAVAILABLE, "the shelf is locked");
  REFUSED(plugin_free = NULL, bad, "`plugin_memory_free`");
}

// ---- Plugins that have little, or fail ----------------------------------------------------------

static char stored[100];  // the one file: what is in it
static size_t stored_size;
static char stored_name[100];

static char* name_of(const TF_Filesystem* fs, const char* uri) {
  return copy(uri + strlen("little://"), strlen(uri) - strlen("little://") + 1);
}

static void expect_stored(const char* path, TF_Status* status) {
  if (!stored_name[0] || strcmp(path, stored_name) != 0) TF_SetStatus(status, TF_NOT_FOUND, "no");
}

static void exists(const TF_Filesystem* fs, const char* path, TF_Status* status) {
  expect_stored(path, status);
}

static int64_t size_of(const TF_Filesystem* fs, const char* path, TF_Status* status) {
  return (int64_t)stored_size;
}

static void map(const TF_Filesystem* fs, const char* path, TF_ReadOnlyMemoryRegion* region,
                TF_Status* status) {
  expect_stored(path, status);
}

static const void* mapped(const TF_ReadOnlyMemoryRegion* region) { return stored; }
static uint64_t mapped_size(const TF_ReadOnlyMemoryRegion* region) { return stored_size; }

static void create(const TF_Filesystem* fs, const char* path, TF_WritableFile* file,
                   TF_Status* status) {
  snprintf(stored_name, sizeof stored_name, "%s", path);
  stored_size = 0;
}

static void add_bytes(const TF_WritableFile* file, const char* bytes, size_t n, TF_Status* status) {
  if (n > sizeof stored - stored_size) {
    TF_SetStatus(status, TF_RESOURCE_EXHAUSTED, "the shelf is full");
    return;
  }
  memcpy(stored + stored_size, bytes, n);
  stored_size += n;
}

static void close_writable(const TF_WritableFile* file, TF_Status* status) {}

static void forget(const TF_Filesystem* fs, const char* path, TF_Status* status) {
  if (strcmp(path, stored_name) == 0) stored_name[0] = 0;
}

static int match(const TF_Filesystem* fs, const char* glob, char*** names, TF_Status* status) {
  *names = malloc(2 * sizeof **names);
  (*names)[0] = copy("little://z", 11);
  (*names)[1] = copy("little://a", 11);
  return 2;
}

static void open_never(const TF_Filesystem* fs, const char* path, TF_RandomAccessFile* file,
                       TF_Status* status) {
  TF_SetStatus(status, TF_UNAVAILABLE, "the shelf burns");
}

// ---- Options ------------------------------------------------------------------------------------

static char option_text[100];  // "key=value" of what was set last

static void set_options(const TF_Filesystem* fs, const TF_Filesystem_Option* options, int count,
                        TF_Status* status) {
  const TF_Filesystem_Option_Value* value = options[0].value;
  if (count != 1 || value->type_tag != TF_Filesystem_Option_Type_Buffer ||
      value->num_values != 1 || strcmp(options[0].name, "colour") != 0) {
    TF_SetStatus(status, TF_INVALID_ARGUMENT, "the shelf has a colour only");
    return;
  }
  snprintf(option_text, sizeof option_text, "%s=%.*s", options[0].name,
           value->values[0].buffer_val.buf_length, value->values[0].buffer_val.buf);
}

static TF_Operation* set_option(const char* scheme, const char* key, const char* value) {
  return add_op("FileSystemSetConfiguration",
                (TF_Output[]){text(scheme), text(key), text(value)}, 3)
      .oper;
}

static void expect_refusal(TF_Operation* operation, TF_Code code, const char* text) {
  TF_SessionRun(kit.session, NULL, NULL, NULL, 0, NULL, NULL, 0,
                (const TF_Operation* const[]){operation}, 1, NULL, kit.status);
  kit_expect_text(kit.status, code, text);
}

static void an_op_sets_options_of_a_scheme(void** state) {
  prepare("painted");
  table.set_filesystem_configuration = set_options;
  rows[1] = rows[0];
  TF_FilesystemOps plain = table;
  plain.set_filesystem_configuration = NULL;
  rows[1].scheme = (char*)"plain";
  rows[1].filesystem_ops = &plain;
  row_count = 2;
  tell_plugin();
  kit_ok(kit.status);
  model_kit_run(set_option("painted", "colour", "dark red"));
  assert_string_equal(option_text, "colour=dark red");
  expect_refusal(set_option("painted", "size", "1"), TF_INVALID_ARGUMENT, "a colour only");
  expect_refusal(set_option("plain", "colour", "red"), TF_UNIMPLEMENTED, "SetConfiguration()");
  expect_refusal(set_option("", "colour", "red"), TF_UNIMPLEMENTED, "no options");
  expect_refusal(set_option("file", "colour", "red"), TF_UNIMPLEMENTED, "no options");
  expect_refusal(set_option("none", "colour", "red"), TF_UNIMPLEMENTED,
                 "scheme 'none' not found");
}

// ---- What is missing ----------------------------------------------------------------------------

// Regions for reading, no rename, no stat, names and matches of its own.
static void what_a_plugin_lacks_is_made_of_what_it_has(void** state) {
  prepare("little");
  table.new_read_only_memory_region_from_file = map;
  table.new_writable_file = create;
  table.delete_file = forget;
  table.path_exists = exists;
  table.get_file_size = size_of;
  table.translate_name = name_of;
  table.get_matching_paths = match;
  region_table.data = mapped;
  region_table.length = mapped_size;
  writer_table.append = add_bytes;
  writer_table.close = close_writable;
  rows[0].read_only_memory_region_ops = &region_table;
  rows[0].writable_file_ops = &writer_table;
  rows[0].filesystem_ops_api = 3;  // is only said
  rows[1] = rows[0];
  rows[1].scheme = "failing";  // the same, but for reading
  TF_FilesystemOps failing = table;
  failing.new_random_access_file = open_never;
  failing.translate_name = NULL;
  rows[1].filesystem_ops = &failing;
  rows[1].random_access_file_ops = &reader_table;
  row_count = 2;
  tell_plugin();
  kit_ok(kit.status);
  assert_int_equal(initialized, 2);

  put_file("little://a", "kept");
  expect_texts(add_op("ReadFile", (TF_Output[]){text("little://a")}, 1), (const char*[]){"kept"},
               1);
  expect_texts(add_op("MatchingFiles", (TF_Output[]){text("little://?")}, 1),
               (const char*[]){"little://a", "little://z"}, 2);
  leat_file_system_t* fs = leat_file_system_default();
  LEAT_EXPECT_OK(fs->vtable->rename(fs, "little://a", "little://b"));
  assert_true(leat_file_exists(fs, "little://b") && !leat_file_exists(fs, "little://a"));
  leat_file_t* file = NULL;
  LEAT_EXPECT_CODE(LEAT_UNIMPLEMENTED, leat_file_open(fs, "little://b", LEAT_FILE_APPEND,
                                                      leat_allocator_system(), &file));
  LEAT_EXPECT_CODE(LEAT_UNIMPLEMENTED, fs->vtable->make_directory(fs, "little://d"));
  LEAT_EXPECT_CODE(LEAT_UNIMPLEMENTED, fs->vtable->list(fs, "little://d", count_name, NULL));
  LEAT_EXPECT_OK(leat_file_open(fs, "little://b", LEAT_FILE_WRITE, leat_allocator_system(), &file));
  leat_status_t full = file->vtable->write(file, stored, sizeof stored + 1);
  assert_non_null(strstr(leat_status_message(full), "the shelf is full"));
  assert_non_null(strstr(leat_status_message(full), "little://b"));
  LEAT_EXPECT_CODE(LEAT_RESOURCE_EXHAUSTED, full);
  LEAT_EXPECT_OK(leat_file_close(file));

  assert_null(fetch(add_op("ReadFile", (TF_Output[]){text("failing://h/a")}, 1)));
  kit_expect_text(kit.status, TF_UNAVAILABLE, "the shelf burns");
  kit_expect_text(kit.status, TF_UNAVAILABLE, "failing://h/a");
}

static int group_set_up(void** state) {
  TF_Status* status = TF_NewStatus();
  register_plugin("memory_plugin", status);
  int failed = TF_GetCode(status) != TF_OK;
  TF_DeleteStatus(status);
  leat_file_conformance_fs = leat_file_system_default();
  leat_file_conformance_root = "memory://";
  return failed;
}

#define KIT_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, model_kit_tear_down)

static int set_up(void** state) {
  if (model_kit_set_up(state)) return -1;
  model_kit_run(leat_group(kit.scope, "nothing", NULL, 0));  // opens the session
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      LEAT_FILE_CONFORMANCE_TESTS,
      KIT_TEST(ops_reach_the_file_system),
      KIT_TEST(readers_reach_the_file_system),
      KIT_TEST(checkpoints_and_models_reach_the_file_system),
      KIT_TEST(the_environment_reaches_the_file_system),
      KIT_TEST(paths_of_the_machine_have_the_scheme_file),
      KIT_TEST(lack_of_memory_is_reported_or_harmless),
      KIT_TEST(plugins_that_are_not_in_order_are_refused),
      KIT_TEST(what_a_plugin_lacks_is_made_of_what_it_has),
      KIT_TEST(an_op_sets_options_of_a_scheme),
  };
  return cmocka_run_group_tests(tests, group_set_up, NULL);
}
