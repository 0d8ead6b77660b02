// Placement by the rules of TensorFlow's placer, as pictures: one line a node,
//
//   name = Op(input, input) @device ~group
//
// and the first letter of the name is the device where it must end: C and D are CPU:0 and CPU:1, G
// and H are GPU:0 and GPU:1. The devices and kernels exist for the test only, and nothing runs; an
// op is served by the CPU, the GPU or both, as its row in |rows| says. Requests that contradict
// each other are among the cases. What the messages say is tested in placer_test.c, and the greedy
// placer in greedy_test.c.
#include <stdio.h>
#include <string.h>

#include "master/placer.h"
#include "session/scene.h"

#define TASK "/job:localhost/replica:0/task:0/device:"

static const leat_placement_device_t devices[] = {
    {.name = LEAT_SV(TASK "CPU:0"), .type = LEAT_SV("CPU")},
    {.name = LEAT_SV(TASK "CPU:1"), .type = LEAT_SV("CPU")},
    {.name = LEAT_SV(TASK "GPU:0"), .type = LEAT_SV("GPU")},
    {.name = LEAT_SV(TASK "GPU:1"), .type = LEAT_SV("GPU")},
};
static const char kLetters[] = "CDGH";

static leat_status_t unused(leat_kernel_context_t* c) { return leat_ok_status(); }
#define ON(op_name, device) {.op = op_name, .device_type = device, .compute = unused}
#define BOTH(op_name) ON(op_name, "CPU"), ON(op_name, "GPU")

static const leat_kernel_row_t rows[] = {
    BOTH("Placeholder"), BOTH("Neg"), BOTH("Identity"), BOTH("Shape"), BOTH("Mul"),
    ON("Sign", "CPU"), ON("Exp", "GPU"),
    BOTH("VariableV2"), ON("Variable", "CPU"), ON("TemporaryVariable", "GPU"),
    BOTH("Assign"), ON("AssignAdd", "CPU"), ON("AssignSub", "GPU"),
    BOTH("VarHandleOp"), BOTH("AssignVariableOp"), BOTH("ReadVariableOp"),
    ON("AssignAddVariableOp", "CPU"), BOTH("ResourceApplyMomentum"),
    {.op = 0},
};

typedef struct picture_s {
  scene_t scene;
  leat_kernel_registry_t* kernels;
} picture_t;

static leat_string_view_t cut(leat_string_view_t* rest, char separator) {
  size_t end = leat_string_view_find(*rest, separator);
  leat_string_view_t part = *rest;
  if (end != SIZE_MAX) part.size = end;
  *rest = leat_string_view_from_index(*rest, end == SIZE_MAX ? rest->size : end + 1);
  return leat_string_view_trim(part);
}

static void text_of(leat_string_view_t view, char out[64]) {
  snprintf(out, 64, "%.*s", LEAT_SV_ARG(view));
}

static void draw_node(picture_t* p, leat_string_view_t line) {
  char name[64], op[64], device[64] = "", group[70] = "";
  leat_output_t inputs[8];
  int input_count = 0;
  text_of(cut(&line, '='), name);
  text_of(cut(&line, '('), op);
  leat_string_view_t arguments = cut(&line, ')');
  while (arguments.size > 0) {
    int32_t node = leat_graph_find_node(p->scene.graph, cut(&arguments, ','));
    assert_true(node >= 0);
    inputs[input_count++] = (leat_output_t){node, 0};
  }
  leat_string_view_t place = cut(&line, '~');
  if (place.size > 0) text_of(leat_string_view_from_index(place, 1), device);
  leat_attr_t attrs[3];
  int attr_count = 0;
  bool is_source = input_count == 0;
  if (is_source || strstr(op, "VariableOp")) {
    attrs[attr_count++] = LEAT_TYPE("dtype", LEAT_DTYPE_FLOAT);
  }
  if (is_source) attrs[attr_count++] = LEAT_SHAPE("shape", leat_partial_shape_scalar());
  if (line.size > 0) snprintf(group, sizeof group, "loc:@%.*s", LEAT_SV_ARG(line));
  leat_string_view_t group_view = leat_string_view_from(group);
  if (group[0]) {
    attrs[attr_count++] = (leat_attr_t){
        LEAT_SV("_class"),
        {.kind = LEAT_ATTR_STRING, .is_list = true, .count = 1, .strings = &group_view}};
  }
  scene_node(&p->scene, op, name, device, (leat_outputs_t){inputs, input_count},
             (leat_attrs_t){attrs, attr_count});
}

static leat_status_t place(picture_t* p, const char* text, bool soft) {
  scene_open(&p->scene);
  LEAT_EXPECT_OK(leat_kernel_registry_create(leat_allocator_system(), &p->kernels));
  LEAT_EXPECT_OK(leat_kernel_registry_add(p->kernels, rows));
  for (leat_string_view_t rest = leat_string_view_from(text); rest.size > 0;) {
    leat_string_view_t line = cut(&rest, '\n');
    if (line.size > 0) draw_node(p, line);
  }
  leat_placer_options_t options = {.kernels = p->kernels, .devices = devices, .device_count = 4,
                                   .allow_soft_placement = soft};
  return leat_place(p->scene.graph, &options);
}

static void end(picture_t* p) {
  leat_kernel_registry_free(p->kernels);
  scene_close(&p->scene);
}

static void expect_placed(const char* text, bool soft) {
  picture_t p;
  LEAT_EXPECT_OK(place(&p, text, soft));
  for (size_t i = 0; i < p.scene.graph->node_count; ++i) {
    const leat_node_t* node = &p.scene.graph->nodes[i];
    char there[2] = {kLetters[node->assigned_device]}, wanted[2] = {node->name.data[0]};
    if (there[0] != wanted[0]) print_message("%.*s\n", LEAT_SV_ARG(node->name));
    assert_string_equal(there, wanted);
  }
  end(&p);
}

static void expect_refused(const char* text, bool soft, const char* words) {
  picture_t p;
  scene_expect(place(&p, text, soft), LEAT_INVALID_ARGUMENT, words);
  end(&p);
}

static void no_constraint(void** state) {
  expect_placed("Gin = Placeholder()\n"  // with its reader
                "Gneg = Neg(Gin)\n"
                "Csign = Sign(Gneg)\n"
                "Gexp = Exp(Csign)\n", false);
}

static void partial_constraints(void** state) {
  expect_placed("Cin = Placeholder() @/cpu:0\n"
                "Da = Neg(Cin) @/device:CPU:1\n"
                "Gb = Neg(Cin) @/job:localhost\n"
                "Cc = Neg(Cin) @/task:0/device:CPU:*\n"
                "Hd = Neg(Cin) @/gpu:1\n"
                "Ge = Neg(Cin) @/job:localhost/replica:0/task:0/device:GPU:*\n", false);
}

// A generator goes with its readers where they are together and it may; shapes are read where the
// value is; a node between two that ask for the same stays with its input.
static void heuristics(void** state) {
  expect_placed("Cvar = Variable()\n"
                "Cin = Placeholder()\n"
                "Cassign = Assign(Cvar, Cin)\n", false);
  expect_placed("Cvar = Variable()\n"
                "Cother = Variable()\n"
                "Cin = Placeholder()\n"
                "Cassign = Assign(Cvar, Cin)\n"
                "Cassign2 = Assign(Cother, Cin)\n", false);
  expect_placed("Cvar = Variable()\n"
                "Din = Placeholder() @/cpu:1\n"
                "Cassign = Assign(Cvar, Din)\n", false);
  expect_placed("Cvar = VariableV2() @/cpu:0\n"
                "Dvar = VariableV2() @/cpu:1\n"
                "Gin = Placeholder()\n"  // its readers are apart
                "Cassign = Assign(Cvar, Gin)\n"
                "Dassign = Assign(Dvar, Gin)\n", false);
  expect_placed("Cin = Placeholder() @/cpu:0\n"
                "Cneg = Neg(Cin) @/cpu:0\n"
                "Cshape = Shape(Cneg)\n", false);
  expect_placed("Da = Placeholder() @/cpu:1\n"
                "Db = Neg(Da) @/cpu:1\n"
                "Didentity = Identity(Db)\n"
                "Dc = Neg(Didentity) @/cpu:1\n"
                "Gidentity = Identity(Db)\n"  // two readers that ask for different devices
                "Gd = Neg(Gidentity)\n", false);
}

static void references(void** state) {
  static const struct {
    const char *variable, *assign;
    char place;  // ' ': refused
  } cases[] = {
      {"VariableV2", "Assign", 'G'},      {"VariableV2", "AssignAdd", 'C'},
      {"VariableV2", "AssignSub", 'G'},   {"Variable", "Assign", 'C'},
      {"Variable", "AssignAdd", 'C'},     {"Variable", "AssignSub", ' '},
      {"TemporaryVariable", "Assign", 'G'}, {"TemporaryVariable", "AssignAdd", ' '},
      {"TemporaryVariable", "AssignSub", 'G'},
  };
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(cases); ++i) {
    char text[200], letter = cases[i].place == ' ' ? 'C' : cases[i].place;
    snprintf(text, sizeof text,
             "Cin = Placeholder() @/cpu:0\n%cvar = %s()\n"
             "%cuse = %s(%cvar, Cin)\n",
             letter, cases[i].variable, letter, cases[i].assign, letter);
    if (cases[i].place != ' ') {
      expect_placed(text, false);
    } else {
      expect_refused(text, false, "share no device");
    }
  }
}

// Where a reader of a reference asks for another device than the variable, the variable wins; what
// the variable leaves open, the reader may decide.
static void the_variables_request_stands(void** state) {
  expect_placed("Gvar = VariableV2() @/gpu:0\n"
                "Cin = Placeholder() @/cpu:0\n"
                "Gassign = Assign(Gvar, Cin) @/cpu:0\n", false);
  expect_placed("Cvar = VariableV2() @/job:localhost/task:0\n"
                "Cin = Placeholder() @/task:0\n"
                "Cassign = Assign(Cvar, Cin) @/job:localhost/task:0/device:CPU:0\n", false);
  expect_placed("Dhandle = VarHandleOp()\n"
                "Gin = Placeholder() @/gpu:0\n"
                "Dassign = AssignVariableOp(Dhandle, Gin) @/cpu:1\n"
                "Dread = ReadVariableOp(Dhandle)\n"
                "Gneg = Neg(Dread)\n", false);
}

static void handles(void** state) {
  expect_placed("Chandle = VarHandleOp()\n"
                "Gin = Placeholder() @/gpu:0\n"
                "Cadd = AssignAddVariableOp(Chandle, Gin)\n"
                "Cread = ReadVariableOp(Chandle)\n", false);
  // An op of two handles that were asked for in different places, softly or not.
  for (int soft = 0; soft < 2; ++soft) {
    expect_refused("Cvar = VarHandleOp() @/cpu:0\n"
                   "Gaccum = VarHandleOp() @/gpu:0\n"
                   "Cx = Placeholder() @/cpu:0\n"
                   "Capply = ResourceApplyMomentum(Cvar, Gaccum, Cx, Cx, Cx)\n", soft,
                   "colocated nodes");
  }
}

static void groups(void** state) {
  expect_placed("Cin = Placeholder() @/cpu:0\n"
                "Csign = Sign(Cin)\n"
                "Cneg = Neg(Cin) ~Csign\n", false);
  expect_placed("Din = Placeholder() @/cpu:1\n"  // a chain
                "Da = Neg(Din) ~Din\n"
                "Db = Neg(Da) ~Da\n"
                "Dc = Neg(Db) ~Db\n", false);
  // No node of that name is in the graph (any more): its members stay together.
  expect_placed("Din = Placeholder() @/cpu:1\n"
                "Da = Neg(Din) @/cpu:1 ~pruned\n"
                "Db = Neg(Da) ~pruned\n", false);
  // Groups and references join.
  expect_placed("Cvar = VariableV2() ~Csign\n"
                "Cin = Placeholder() @/cpu:0\n"
                "Cassign = Assign(Cvar, Cin)\n"
                "Csign = Sign(Cin)\n", false);
  expect_refused("Cin = Placeholder() @/cpu:0\n"
                 "Csign = Sign(Cin)\n"
                 "Gexp = Exp(Cin) ~Csign\n", false, "share no device");
  expect_refused("Cin = Placeholder() @/cpu:0\n"
                 "Ca = Neg(Cin) @/cpu:0\n"
                 "Db = Neg(Cin) @/cpu:1 ~Ca\n", false, "incompatible ids");
}

static void soft_placement(void** state) {
  expect_refused("Gin = Placeholder() @/device:GPU:11\n", false, "/device:GPU:11");
  expect_placed("Gin = Placeholder() @/device:GPU:11\n", true);
  expect_refused("Gin = Placeholder()\nCsign = Sign(Gin) @/gpu:0\n", false, "no kernel");
  expect_placed("Cin = Placeholder()\nCsign = Sign(Cin) @/gpu:0\n", true);
  expect_refused("Cin = Placeholder() @/job:elsewhere\n", true, "/job:elsewhere");
  // Members that disagree on the number keep the type, on the type nothing.
  expect_placed("Cin = Placeholder() @/cpu:0\n"
                "Ca = Neg(Cin) @/cpu:0\n"
                "Cb = Neg(Cin) @/cpu:1 ~Ca\n", true);
  expect_placed("Cin = Placeholder() @/cpu:0\n"
                "Ga = Neg(Cin) @/cpu:1\n"
                "Gb = Neg(Cin) @/gpu:1 ~Ga\n", true);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(no_constraint),
      cmocka_unit_test(partial_constraints),
      cmocka_unit_test(heuristics),
      cmocka_unit_test(references),
      cmocka_unit_test(the_variables_request_stands),
      cmocka_unit_test(handles),
      cmocka_unit_test(groups),
      cmocka_unit_test(soft_placement),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
