// The inspection leat inspect checkpoint: prints the name, type and shape of every tensor in a
// checkpoint, or the values of one. A checkpoint is named by its prefix, by its .index file, or by
// a directory, which stands for the newest checkpoint that its state file names. Listing reads the
// index only, so that it is fast for any size of data. The objects of a checkpoint of TensorFlow 2
// are shown by inspect_objects.c.
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "array.h"
#include "element.h"
#include "inspect.h"
#include "json.h"
#include "leat/files.h"

#define MAX_RANK 254

// Returns the prefix that |path| stands for, which the caller frees; NULL with |status| set.
static char* find_prefix(const char* path, TF_Status* status) {
  struct stat about;
  size_t size = strlen(path);
  if (stat(path, &about) == 0 && S_ISDIR(about.st_mode)) {
    return leat_checkpoint_latest(path, status);
  }
  if (size > 6 && !strcmp(path + size - 6, ".index")) size -= 6;
  char* prefix = strndup(path, size);
  if (!prefix) TF_SetStatus(status, TF_RESOURCE_EXHAUSTED, "no memory for a path");
  return prefix;
}

// In double, because the sizes of a damaged index may overflow an integer.
static double element_count(const int64_t* dims, int rank) {
  double count = 1;
  for (int i = 0; i < rank; ++i) count *= (double)dims[i];
  return count;
}

// Prints one tensor as a line of a table or as an element of a JSON array, and adds its elements to
// |*inout_elements|.
static void print_entry(const leat_checkpoint_t* c, size_t index, bool as_json,
                        double* inout_elements) {
  int64_t dims[MAX_RANK];
  TF_DataType dtype = TF_FLOAT;
  const char* name = leat_checkpoint_name(c, index);
  int rank = leat_checkpoint_shape(c, index, &dtype, dims, MAX_RANK);
  if (as_json) {
    fputs("{\"name\": ", stdout);
    json_print_string(stdout, name, strlen(name));
    printf(", \"dtype\": \"%s\", \"shape\": [", element_type_name(dtype));
  } else {
    printf("%-40s %-8s [", name, element_type_name(dtype));
  }
  for (int i = 0; i < rank; ++i) printf("%s%lld", i ? ", " : "", (long long)dims[i]);
  fputs(as_json ? "]}" : "]\n", stdout);
  *inout_elements += element_count(dims, rank);
}

static void print_list(const leat_checkpoint_t* c, bool as_json) {
  double elements = 0;
  size_t count = leat_checkpoint_count(c);
  if (as_json) putchar('[');
  for (size_t i = 0; i < count; ++i) {
    if (as_json && i) fputs(",\n ", stdout);
    print_entry(c, i, as_json, &elements);
  }
  if (as_json) {
    puts("]");
  } else {
    printf("%zu tensors, %.0f elements\n", count, elements);
    if (objects_are_in(c)) puts("with a graph of objects: --objects shows it");
  }
}

static int print_tensor(leat_checkpoint_t* c, const inspection_t* inspection, TF_Status* status) {
  TF_Tensor* tensor = leat_checkpoint_read(c, inspection->tensor, status);
  if (!tensor) return complain_status(inspection->path, status);
  if (inspection->json) {
    array_print_json(stdout, tensor);
    putchar('\n');
  } else {
    printf("%s%s%s ", style_bold(stdout), inspection->tensor, style_end(stdout));
    array_print_type(stdout, tensor);
    putchar('\n');
    array_print(stdout, tensor);
  }
  TF_DeleteTensor(tensor);
  return EXIT_OK;
}

int inspect_checkpoint(const inspection_t* inspection) {
  TF_Status* status = TF_NewStatus();
  char* prefix = find_prefix(inspection->path, status);
  leat_checkpoint_t* checkpoint = prefix ? leat_checkpoint_open(prefix, status) : NULL;
  int code = EXIT_OK;
  if (!checkpoint) {
    code = complain("%s", TF_Message(status));
  } else if (inspection->objects) {
    code = inspect_objects(checkpoint, inspection->json);
  } else if (inspection->tensor) {
    code = print_tensor(checkpoint, inspection, status);
  } else {
    print_list(checkpoint, inspection->json);
  }
  leat_checkpoint_close(checkpoint);
  free(prefix);
  TF_DeleteStatus(status);
  return code;
}
