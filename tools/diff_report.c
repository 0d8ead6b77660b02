// What leat diff says: how much is equal, the first tensor that differs with its largest
// difference, and the operations around it, each with how it compares. tools/diff.c calls the three
// forms of the report after the last step that it compares: lines for people, one JSON object for
// programs, and a picture as SVG. Nothing is run or compared here; every answer stands in |diff|.
//
// The first tensor that differs matters most, because values are compared in the order in which
// they are computed, so that what differs behind it may only follow from it. Where all that its
// operation reads compares as equal, the fault is in the operation itself, hence the neighbours in
// the report. As a picture the operations around the first one are a graph of their own, in which
// it is marked:
//
//   first ─▶ what it reads, what reads it, AROUND times ─▶ GraphDef ─▶ picture.h ─▶ SVG
//
// Readers outside the step are left out, since they have no values. The public C API, which is all
// that tools use, makes a NodeDef of an operation but no GraphDef of some, so write_graph puts the
// NodeDefs behind one another with their tags and sizes. Lists and pictures end after a fixed
// number of operations, because a variable may have thousands of readers.
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "diff.h"
#include "element.h"
#include "file.h"
#include "json.h"
#include "picture.h"

#define AROUND 2      // edges from the first that differs to what is drawn
#define MOST_AROUND 60
#define LISTED 12     // readers

// The value of an operation's output, if it was compared; the first one of its outputs otherwise.
static const diff_value_t* value_of(const diff_t* diff, const TF_Operation* operation, int output) {
  const diff_value_t* found = NULL;
  for (int i = 0; i < diff->value_count; ++i) {
    const diff_value_t* value = &diff->values[i];
    if (value->a.oper != operation) continue;
    if (value->a.index == output) return value;
    if (!found) found = value;
  }
  return output < 0 ? found : NULL;
}

static void print_type(const TF_Tensor* tensor) {
  printf("%s [", element_type_name(TF_TensorType(tensor)));
  for (int i = 0; i < TF_NumDims(tensor); ++i) {
    printf("%s%lld", i ? ", " : "", (long long)TF_Dim(tensor, i));
  }
  putchar(']');
}

// Prints a line about an operation beside the first that differs.
static void print_neighbor(const diff_t* diff, const char* what, TF_Operation* operation,
                           int output) {
  const diff_value_t* value = value_of(diff, operation, output);
  bool differs = value && value->difference.kind;
  printf("  %s %-7s %s (%s): %s", !value ? "?" : differs ? "!" : "=", what,
         TF_OperationName(operation), TF_OperationOpType(operation),
         !value ? "not compared" : differs ? "differs" : "equal");
  if (value && value->difference.largest > 0) {
    printf(" %s %g", differs ? "by" : "up to", value->difference.largest);
  }
  putchar('\n');
}

static void print_around(const diff_t* diff, TF_Operation* operation) {
  printf("%saround it%s\n", style_bold(stdout), style_end(stdout));
  for (int i = 0; i < TF_OperationNumInputs(operation); ++i) {
    TF_Output input = TF_OperationInput((TF_Input){operation, i});
    print_neighbor(diff, "reads", input.oper, input.index);
  }
  int listed = 0;
  for (int o = 0; o < TF_OperationNumOutputs(operation); ++o) {
    int count = TF_OperationOutputNumConsumers((TF_Output){operation, o});
    TF_Input* readers = calloc((size_t)count + 1, sizeof *readers);
    if (readers) TF_OperationOutputConsumers((TF_Output){operation, o}, readers, count);
    for (int i = 0; readers && i < count && listed < LISTED; ++i) {
      if (diff_find(diff, readers[i].oper) < 0) continue;
      print_neighbor(diff, "read by", readers[i].oper, -1);
      ++listed;
    }
    free(readers);
  }
}

static void print_difference(const diff_value_t* value) {
  const difference_t* d = &value->difference;
  printf("  A ");
  print_type(value->a_value);
  printf(", B ");
  print_type(value->b_value);
  if (d->kind != DIFFERENCE_VALUE) {
    printf(": the %s differ\n", d->kind == DIFFERENCE_TYPE ? "types" : "shapes");
    return;
  }
  bool is_string = TF_TensorType(value->a_value) == TF_STRING;
  if (is_string) {
    printf("\n  the first at ");
  } else {
    printf("\n  the largest difference is %g, at ", d->largest);
  }
  difference_print_place(stdout, value->a_value, d->place);
  printf(": A ");
  difference_print_element(stdout, value->a_value, d->place);
  printf(", B ");
  difference_print_element(stdout, value->b_value, d->place);
  printf("\n  %lld of %lld elements differ\n", (long long)d->count, (long long)d->elements);
}

// The largest difference among the values before |end| that count as equal.
static const diff_value_t* largest_before(const diff_t* diff, int end) {
  const diff_value_t* found = NULL;
  for (int i = 0; i < end; ++i) {
    const diff_value_t* value = &diff->values[i];
    double largest = value->difference.largest;
    if (largest > 0 && (!found || largest > found->difference.largest)) found = value;
  }
  return found;
}

void diff_report(const diff_t* diff) {
  int equal = diff->first < 0 ? diff->value_count : diff->first, after = 0;
  printf("A: %s\nB: %s\n", diff->a_path, diff->b_path);
  if (diff->missing_count) {
    printf("%d operations of A are not in B: %s%s\n", diff->missing_count,
           TF_OperationName((TF_Operation*)diff->missing),
           diff->missing_count > 1 ? ", ..." : "");
  }
  printf("%d tensors compared in step %d, in the order in which they are computed; %s%d are equal",
         diff->value_count, diff->step, diff->first < 0 ? "all " : "the first ", equal);
  const diff_value_t* largest = largest_before(diff, equal);
  if (largest) {
    printf(" (up to %g, at %s)", largest->difference.largest,
           TF_OperationName(largest->a.oper));
  }
  putchar('\n');
  if (diff->first < 0) return;
  const diff_value_t* value = &diff->values[diff->first];
  printf("%sthe first that differs: %s:%d%s (%s)", style_bold(stdout),
         TF_OperationName(value->a.oper), value->a.index, style_end(stdout),
         TF_OperationOpType(value->a.oper));
  if (diff->rename_from) printf(", in B %s", value->name);
  if (value->b.oper &&
      strcmp(TF_OperationOpType(value->a.oper), TF_OperationOpType(value->b.oper))) {
    printf(", which is a %s in B", TF_OperationOpType(value->b.oper));
  }
  putchar('\n');
  print_difference(value);
  for (int i = diff->first + 1; i < diff->value_count; ++i) {
    after += diff->values[i].difference.kind != DIFFERENCE_NONE;
  }
  printf("  after it, %d of %d differ too\n", after, diff->value_count - diff->first - 1);
  print_around(diff, value->a.oper);
}

// ---- JSON ---------------------------------------------------------------------------------------

static void print_string(const char* key, const char* text) {
  printf(", \"%s\": ", key);
  json_print_string(stdout, text, strlen(text));
}

static void print_json_type(const char* key, const TF_Tensor* tensor) {
  printf(", \"%s\": {\"dtype\": \"%s\", \"shape\": [", key,
         element_type_name(TF_TensorType(tensor)));
  for (int i = 0; i < TF_NumDims(tensor); ++i) {
    printf("%s%lld", i ? ", " : "", (long long)TF_Dim(tensor, i));
  }
  fputs("]}", stdout);
}

void diff_report_json(const diff_t* diff) {
  static const char* const kKinds[] = {"none", "type", "shape", "value"};
  printf("{\"compared\": %d, \"equal\": %d, \"step\": %d, \"missing\": %d", diff->value_count,
         diff->first < 0 ? diff->value_count : diff->first, diff->step, diff->missing_count);
  if (diff->first < 0) {
    puts(", \"first\": null}");
    return;
  }
  const diff_value_t* value = &diff->values[diff->first];
  const difference_t* d = &value->difference;
  printf(", \"first\": {\"output\": %d", value->a.index);
  print_string("name", TF_OperationName(value->a.oper));
  print_string("op", TF_OperationOpType(value->a.oper));
  print_string("name_in_b", value->name);
  print_string("kind", kKinds[d->kind]);
  print_json_type("a", value->a_value);
  print_json_type("b", value->b_value);
  if (d->kind == DIFFERENCE_VALUE) {
    printf(", \"differing\": %lld, \"elements\": %lld, \"at\": ", (long long)d->count,
           (long long)d->elements);
    difference_print_place(stdout, value->a_value, d->place);
    if (d->largest < 1e308) printf(", \"largest\": %.17g", d->largest);
  }
  puts("}}");
}

// ---- The picture --------------------------------------------------------------------------------

typedef struct around_s {
  TF_Operation* operations[MOST_AROUND];
  int count;
} around_t;

static void add_around(around_t* around, TF_Operation* operation) {
  for (int i = 0; i < around->count; ++i) {
    if (around->operations[i] == operation) return;
  }
  if (around->count < MOST_AROUND) around->operations[around->count++] = operation;
}

// Adds what operation |at| of |around| reads, and what of the step reads it.
static void add_neighbors(const diff_t* diff, around_t* around, int at) {
  TF_Operation* operation = around->operations[at];
  for (int i = 0; i < TF_OperationNumInputs(operation); ++i) {
    add_around(around, TF_OperationInput((TF_Input){operation, i}).oper);
  }
  for (int o = 0; o < TF_OperationNumOutputs(operation); ++o) {
    TF_Input readers[MOST_AROUND];
    int count = TF_OperationOutputConsumers((TF_Output){operation, o}, readers, MOST_AROUND);
    for (int i = 0; i < count && i < MOST_AROUND; ++i) {
      if (diff_find(diff, readers[i].oper) >= 0) add_around(around, readers[i].oper);
    }
  }
}

// Writes a GraphDef of the operations: each NodeDef is field 1, behind its size as a varint.
static bool write_graph(FILE* out, const around_t* around, TF_Status* status) {
  for (int i = 0; i < around->count; ++i) {
    TF_Buffer* node = TF_NewBuffer();
    TF_OperationToNodeDef(around->operations[i], node, status);
    fputc(0x0a, out);
    size_t size = node->length;
    for (; size >= 0x80; size >>= 7) fputc((int)(size & 0x7f) | 0x80, out);
    fputc((int)size, out);
    fwrite(node->data, 1, node->length, out);
    TF_DeleteBuffer(node);
    if (TF_GetCode(status) != TF_OK) return false;
  }
  return true;
}

int diff_draw(const diff_t* diff, const char* path) {
  if (diff->first < 0) return EXIT_OK;
  TF_Operation* first = diff->values[diff->first].a.oper;
  around_t around = {.operations = {first}, .count = 1};
  for (int step = 0, done = 0; step < AROUND; ++step) {
    for (int end = around.count; done < end; ++done) add_neighbors(diff, &around, done);
  }
  char* bytes = NULL;
  size_t size = 0;
  FILE* memory = open_memstream(&bytes, &size);
  if (!memory) return complain("no memory for the picture");
  bool is_written = write_graph(memory, &around, diff->a.status);
  fclose(memory);
  char* svg = NULL;
  if (is_written) {
    TF_Buffer graph = {.data = bytes, .length = size};
    const char* marked = TF_OperationName(first);
    svg = picture_draw(&graph, &(picture_t){.open_all = true, .marked = &marked,
                                            .marked_count = 1});
    if (svg) file_write(path, svg, strlen(svg), diff->a.status);
  }
  free(bytes);
  bool is_done = svg && TF_GetCode(diff->a.status) == TF_OK;
  free(svg);
  if (is_done) return EXIT_OK;
  return TF_GetCode(diff->a.status) == TF_OK ? EXIT_FAILED
                                             : complain("%s", TF_Message(diff->a.status));
}
