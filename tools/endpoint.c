// Finds operations and outputs of a graph by the names that a user types, for the subcommands run,
// diff, place, simulate and convert. NAME stands for output 0 of an operation and NAME:NUMBER for
// any output; the last colon of the text decides. Whatever fails has been told on stderr when a
// function returns, so the caller need not.
//
// For a name that does not exist, the complaint suggests the name with the smallest edit distance,
// which tells somebody who has misspelt it what to type. The distance must be below 2 plus half of
// the length of what was typed, since a name that shares little with it would mislead. The nearest
// name is found by comparing the text with every operation of the graph. Each comparison needs one
// row of the usual table, which is of fixed size and lies on the stack, and is skipped where the
// lengths alone are too far apart or a name is longer than MAX_NAME. That cost is paid only on the
// way to an error.
#include "endpoint.h"

#include <stdlib.h>
#include <string.h>

#include "command.h"

#define MAX_NAME 256

// The number of insertions, deletions and replacements between |a| and |b| (Levenshtein), or
// |limit| where it is not smaller. One row of the table is kept.
static int edit_distance(const char* a, const char* b, int limit) {
  int row[MAX_NAME + 1], size_a = (int)strlen(a), size_b = (int)strlen(b);
  if (size_a > MAX_NAME || size_b > MAX_NAME || abs(size_a - size_b) >= limit) return limit;
  for (int j = 0; j <= size_b; ++j) row[j] = j;
  for (int i = 1; i <= size_a; ++i) {
    int diagonal = row[0];
    row[0] = i;
    for (int j = 1; j <= size_b; ++j) {
      int best = diagonal + (a[i - 1] != b[j - 1]);
      if (row[j] + 1 < best) best = row[j] + 1;
      if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
      diagonal = row[j];
      row[j] = best;
    }
  }
  return row[size_b] < limit ? row[size_b] : limit;
}

static const char* nearest_name(TF_Graph* graph, const char* name) {
  const char* nearest = NULL;
  int least = 2 + (int)strlen(name) / 2;
  size_t position = 0;
  for (TF_Operation* o; (o = TF_GraphNextOperation(graph, &position));) {
    int distance = edit_distance(name, TF_OperationName(o), least);
    if (distance < least) {
      least = distance;
      nearest = TF_OperationName(o);
    }
  }
  return nearest;
}

TF_Operation* endpoint_operation(TF_Graph* graph, const char* name) {
  TF_Operation* operation = TF_GraphOperationByName(graph, name);
  if (operation) return operation;
  const char* nearest = nearest_name(graph, name);
  if (nearest) {
    complain("the graph has no operation '%s'; did you mean '%s'?", name, nearest);
  } else {
    complain("the graph has no operation '%s'", name);
  }
  return NULL;
}

TF_Output endpoint_output(TF_Graph* graph, const char* name) {
  const TF_Output none = {NULL, 0};
  char operation_name[MAX_NAME];
  const char* colon = strrchr(name, ':');
  size_t size = colon ? (size_t)(colon - name) : strlen(name);
  char* end = "";
  long index = colon ? strtol(colon + 1, &end, 10) : 0;
  if (*end || (colon && !colon[1]) || size >= sizeof operation_name) {
    complain("'%s' is no output, must be NAME or NAME:NUMBER", name);
    return none;
  }
  memcpy(operation_name, name, size);
  operation_name[size] = 0;
  TF_Operation* operation = endpoint_operation(graph, operation_name);
  if (!operation) return none;
  int count = TF_OperationNumOutputs(operation);
  if (index < 0 || index >= count) {
    complain("'%s' (%s) has %d outputs, not one of number %ld", operation_name,
             TF_OperationOpType(operation), count, index);
    return none;
  }
  return (TF_Output){operation, (int)index};
}
