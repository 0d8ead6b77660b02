// The subcommand leat ops: lists the registered ops, or prints the inputs, outputs, attributes and
// kernels of one. Everything comes from leat_ops_json, the library's description of itself, or with
// the ops that are only declared from leat_all_ops_json, so that the list cannot differ from what
// the library does. It is parsed into a tree (tools/json.h). What it cannot know is added here: how
// many of the cases that were recorded from TensorFlow the op passes, from the list by which
// dev/test-oracle judges. A name that is not registered is an error.
#include <stdlib.h>
#include <string.h>

#include "command.h"
#include "json.h"
#include "leat/inspect.h"
#include "op_cases.h"

enum { JSON_OPTION, NAMES_OPTION, ALL_OPTION };

static int compare_op(const void* name, const void* cases) {
  return strcmp(name, ((const op_cases_t*)cases)->op);
}

// {0} where there are none.
static op_cases_t find_cases(const char* op) {
  const op_cases_t* cases =
      bsearch(op, op_cases_list, op_cases_count, sizeof *op_cases_list, compare_op);
  return cases ? *cases : (op_cases_t){op, 0, 0};
}

// Prints a list of arguments; the title stands in the first line only.
static void print_arguments(const json_t* op, const char* field, const char* title) {
  const json_t* list = json_member(op, field);
  for (const json_t* a = list ? list->first : NULL; a; a = a->next) {
    printf("  %-10s %s: %s", title, json_text(a, "name"), json_text(a, "type"));
    if (json_member(a, "default")) printf(" = %s", json_text(a, "default"));
    putchar('\n');
    title = "";
  }
}

// Prints a line for each kernel: its device, and the types that it takes.
static void print_kernels(const json_t* op) {
  const json_t* kernels = json_member(op, "kernels");
  const char* title = "kernels";
  for (const json_t* k = kernels ? kernels->first : NULL; k; k = k->next) {
    printf("  %-10s %s", title, json_text(k, "device"));
    const json_t* types = json_member(k, "types");
    for (const json_t* t = types ? types->first : NULL; t; t = t->next) {
      printf("%s %s: ", t == types->first ? "" : ";", t->name);
      for (const json_t* name = t->first; name; name = name->next) {
        printf("%s%s", name->text, name->next ? ", " : "");
      }
    }
    putchar('\n');
    title = "";
  }
  if (!kernels || !kernels->first) printf("  %-10s none\n", title);
}

// Prints a line for each pass or rule by which the op and its neighbours become one node.
static void print_fused_forms(const json_t* op) {
  const json_t* forms = json_member(op, "fused");
  const char* title = "fused";
  for (const json_t* form = forms ? forms->first : NULL; form; form = form->next) {
    printf("  %-10s %s: %s\n", title, json_text(form, "by"), json_text(form, "doc"));
    title = "";
  }
}

static void print_op(const json_t* op) {
  printf("%s%s%s  %s\n", style_bold(stdout), json_text(op, "name"), style_end(stdout),
         json_text(op, "doc"));
  print_arguments(op, "inputs", "inputs");
  print_arguments(op, "outputs", "outputs");
  print_arguments(op, "attributes", "attributes");
  if (json_member(op, "shapes")) printf("  %-10s %s\n", "shapes", json_text(op, "shapes"));
  print_kernels(op);
  print_fused_forms(op);
  const op_cases_t cases = find_cases(json_text(op, "name"));
  if (cases.recorded) {
    printf("  %-10s %d of %d that were recorded from TensorFlow pass\n", "cases", cases.passed,
           cases.recorded);
  }
  printf("  %-10s %s%s\n", "flags", json_truth(op, "gradient") ? "has a gradient" : "no gradient",
         json_truth(op, "stateful") ? ", stateful" : "");
}

static void print_all(const json_t* ops, bool only_names) {
  for (const json_t* op = ops->first; op; op = op->next) {
    if (only_names) {
      puts(json_text(op, "name"));
    } else {
      printf("%-40s %s\n", json_text(op, "name"), json_text(op, "doc"));
    }
  }
}

// Prints a tree as JSON, with the name of a member in front of it.
static void print_json_tree(const json_t* json) {
  if (json->name) {
    json_print_string(stdout, json->name, strlen(json->name));
    fputs(": ", stdout);
  }
  switch (json->kind) {
    case JSON_NULL: fputs("null", stdout); break;
    case JSON_BOOL: fputs(json->truth ? "true" : "false", stdout); break;
    case JSON_NUMBER: fputs(json->text, stdout); break;
    case JSON_STRING: json_print_string(stdout, json->text, strlen(json->text)); break;
    default:
      putchar(json->kind == JSON_ARRAY ? '[' : '{');
      for (const json_t* item = json->first; item; item = item->next) {
        print_json_tree(item);
        if (item->next) fputs(", ", stdout);
      }
      putchar(json->kind == JSON_ARRAY ? ']' : '}');
  }
}

static void print_op_json(const json_t* op) {
  const op_cases_t cases = find_cases(json_text(op, "name"));
  putchar('{');
  for (const json_t* member = op->first; member; member = member->next) {
    print_json_tree(member);
    fputs(", ", stdout);
  }
  printf("\"cases\": {\"passed\": %d, \"recorded\": %d}}", cases.passed, cases.recorded);
}

// Prints an array with a line for each op.
static void print_all_json(const json_t* ops) {
  puts("[");
  for (const json_t* op = ops->first; op; op = op->next) {
    print_op_json(op);
    puts(op->next ? "," : "");
  }
  puts("]");
}

// Prints everything about one op.
static int print_named(const json_t* ops, const char* name, bool as_json) {
  for (const json_t* op = ops->first; op; op = op->next) {
    if (strcmp(json_text(op, "name"), name)) continue;
    if (as_json) {
      print_op_json(op);
      putchar('\n');
    } else {
      print_op(op);
    }
    return EXIT_OK;
  }
  return complain("op '%s' is not registered; leat ops --names lists those that are", name);
}

// Prints all ops or the one named |name|.
static int show(const TF_Buffer* text, const char* name, bool as_json, bool only_names) {
  json_t* ops = json_parse(text->data, text->length);
  if (!ops) return complain("the list of ops cannot be read");
  int code = EXIT_OK;
  if (name) {
    code = print_named(ops, name, as_json);
  } else if (as_json) {
    print_all_json(ops);
  } else {
    print_all(ops, only_names);
  }
  json_free(ops);
  return code;
}

static int run(int argc, char** argv) {
  static const option_t options[] = {{"json", false}, {"names", false},
                                     {"all", false}, {NULL, 0}};
  arguments_t arguments = {.command = &command_ops, .options = options, .argc = argc,
                           .argv = argv};
  const char* name = NULL;
  bool as_json = false, only_names = false, with_declared = false;
  int kind;
  while ((kind = arguments_next(&arguments)) >= ARGUMENT_OPERAND) {
    if (kind == ARGUMENT_OPERAND && name) return complain_usage("ops", "one op at a time");
    if (kind == ARGUMENT_OPERAND) name = arguments.value;
    as_json |= kind == JSON_OPTION;
    only_names |= kind == NAMES_OPTION;
    with_declared |= kind == ALL_OPTION;
  }
  if (kind != ARGUMENT_END) return arguments_exit_code(kind);
  TF_Status* status = TF_NewStatus();
  TF_Buffer* text = name || with_declared ? leat_all_ops_json(status) : leat_ops_json(status);
  int code = text ? show(text, name, as_json, only_names) : complain_status("ops", status);
  TF_DeleteBuffer(text);
  TF_DeleteStatus(status);
  return code;
}

const command_t command_ops = {
    "ops", "lists the ops, or says all about one",
    "Examples:\n"
    "  leat ops                  every op with its line\n"
    "  leat ops MatMul           its inputs, outputs, attributes, kernels, fused forms\n"
    "  leat ops --json           the same of all ops, for programs\n"
    "  leat ops --all            also ops that graphs may hold but that have no kernel here\n"
    "\n"
    "Usage:\n"
    "  leat ops [--json | --names] [--all] [OP]\n",
    run};
