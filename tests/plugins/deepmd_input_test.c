// What the ops of examples/plugins/deepmd refuse: shapes that do not fit to each other, atoms and
// types that are not there, boxes and numbers of no use, and addresses. Each case changes one thing
// of a node that runs, and names the words that the message must hold: op, input, value and rule.
#include <math.h>
#include <stdio.h>

#include "plugins/deepmd_kit.h"

static double davg[2 * 400], dstd[2 * 400];  // some cases have more columns than they should

static void expect_refused(const deepmd_node_t* node, TF_Code code, const char* text) {
  TF_Status* s = TF_NewStatus();
  deepmd_run(node, NULL, NULL, s);
  if (TF_GetCode(s) != code) fail_msg("%s: code %d: %s", text, TF_GetCode(s), TF_Message(s));
  kit_expect_text(s, code, text);
  kit_expect_text(s, code, node->op);
  TF_DeleteStatus(s);
}

static void expect_runs(const deepmd_node_t* node) {
  TF_Status* s = TF_NewStatus();
  deepmd_run(node, NULL, NULL, s);
  kit_ok(s);
  TF_DeleteStatus(s);
}

// ---- environment matrices -----------------------------------------------------------------------

typedef struct environment_t {
  deepmd_system_t system;
  int32_t natoms[16];
  deepmd_node_t node;
} environment_t;

static const double kBox[9] = {7, 0, 0, 0, 6.5, 0, 0, 0, 8};

static deepmd_node_t* set_up(environment_t* e, const char* op, bool box) {
  e->system = deepmd_system(6, box ? kBox : NULL);
  e->node = deepmd_environment(op, &e->system, e->natoms, davg, dstd);
  return &e->node;
}

static const char* const kOps[] = {"ProdEnvMatA", "ProdEnvMatR", "ProdEnvMatAMix"};

static void test_shapes(void** state) {
  // Input, rows (-1: a vector), columns added, and what the message must say.
  static const struct {
    int input, rows, more;
    const char* text;
  } kCases[] = {
      {0, -1, 0, "coord has rank 1, must be 2"},
      {0, 2, 0, "type has 1 rows, must be 2"},
      {0, 1, 1, "coord has 19 columns, must be 18"},
      {1, -1, 0, "type has rank 1, must be 2"},
      {1, 1, -1, "type has 5 columns, must be 6"},
      {1, 2, 0, "type has 2 rows, must be 1"},
      {2, 1, 0, "natoms has rank 2, must be 1"},
      {2, -1, -2, "natoms has 2 elements, must be at least 3"},
      {3, -1, 0, "box has rank 1, must be 2"},
      {3, 1, -3, "box has 6 columns, must be 9"},
      {3, 2, 0, "box has 2 rows, must be 1"},
      {4, 1, 0, "mesh has rank 2, must be 1"},
      {5, -1, 0, "davg has rank 1, must be 2"},
      {5, 1, 0, "davg has 1 rows, must be 2"},
      {5, 2, -1, "columns, must be"},
      {6, 1, 0, "dstd has 1 rows, must be 2"},
      {6, 2, 1, "columns, must be"},
  };
  environment_t e;
  for (int o = 0; o < 3; ++o) {
    expect_runs(set_up(&e, kOps[o], true));
    for (size_t c = 0; c < sizeof kCases / sizeof *kCases; ++c) {
      deepmd_node_t* node = set_up(&e, kOps[o], true);
      deepmd_value_t* value = &node->inputs[kCases[c].input];
      value->rows = kCases[c].rows;
      value->columns += kCases[c].more;
      expect_refused(node, TF_INVALID_ARGUMENT, kCases[c].text);
    }
  }
}

// Known ranks are checked when the node is made.
static void test_static_ranks(void** state) {
  static const struct {
    const char *op, *ranks;
    TF_DataType dtypes[7];
  } kNodes[] = {
      {"ProdForceSeR", "2221", {TF_DOUBLE, TF_DOUBLE, TF_INT32, TF_INT32}},
      {"ProdVirialSeR", "22221", {TF_DOUBLE, TF_DOUBLE, TF_DOUBLE, TF_INT32, TF_INT32}},
      {"DescrptSeAMask", "222", {TF_DOUBLE, TF_INT32, TF_INT32, TF_DOUBLE, TF_INT32, TF_INT32}},
      {"DprcPairwiseIdx", "21", {TF_INT32, TF_INT32}},
  };
  deepmd_load();
  TF_Status* s = TF_NewStatus();
  for (size_t n = 0; n < sizeof kNodes / sizeof *kNodes; ++n) {
    int checked = (int)strlen(kNodes[n].ranks);
    for (int wrong = -1; wrong < checked; ++wrong) {
      TF_Graph* graph = TF_NewGraph();
      TF_OperationDescription* desc = TF_NewOperation(graph, kNodes[n].op, "y");
      for (int i = 0; i < 7 && kNodes[n].dtypes[i]; ++i) {
        const int64_t dims[3] = {-1, -1, -1};
        char name[20];
        snprintf(name, sizeof name, "in%d", i);
        int rank = i >= checked ? 0 : i == wrong ? 3 : kNodes[n].ranks[i] - '0';
        TF_AddInput(desc, kit_out(kit_shaped(graph, name, kNodes[n].dtypes[i], rank, dims), 0));
      }
      TF_FinishOperation(desc, s);
      if (wrong < 0) {
        kit_ok(s);
      } else {
        kit_expect_text(s, TF_INVALID_ARGUMENT, "rank 3");
      }
      TF_DeleteGraph(graph);
    }
  }
  TF_DeleteStatus(s);
}

static void test_atoms(void** state) {
  environment_t e;
  for (int o = 0; o < 3; ++o) {
    deepmd_node_t* node = set_up(&e, kOps[o], true);
    e.natoms[0] = -1;
    expect_refused(node, TF_INVALID_ARGUMENT, "natoms[0] is -1, must not be negative");
    node = set_up(&e, kOps[o], true);
    e.natoms[0] = 7;
    expect_refused(node, TF_INVALID_ARGUMENT, "natoms[1] is 6, must be at least natoms[0], 7");
    node = set_up(&e, kOps[o], true);
    e.natoms[0] = 5;
    expect_refused(node, TF_INVALID_ARGUMENT, "natoms[1] is 6, must be natoms[0], 5, in a peri");
    node = set_up(&e, kOps[o], false);
    e.natoms[0] = e.natoms[1] = INT32_MAX;
    expect_refused(node, TF_INVALID_ARGUMENT, "coord has 18 columns, must be 6442450941");
    node = set_up(&e, kOps[o], false);
    e.system.type[4] = 2;
    expect_refused(node, TF_INVALID_ARGUMENT, "type[0, 4] is 2, must be less than 2");
    node = set_up(&e, kOps[o], true);
    e.system.type[3] = INT32_MAX;
    expect_refused(node, TF_INVALID_ARGUMENT, "type[0, 3] is 2147483647, must be less than 2");
    node = set_up(&e, kOps[o], true);
    e.system.coord[7] = NAN;
    expect_refused(node, TF_INVALID_ARGUMENT, "coord of atom 2 is");
    node = set_up(&e, kOps[o], false);
    e.system.coord[17] = INFINITY;
    expect_refused(node, TF_INVALID_ARGUMENT, "coord of atom 5 is inf, must be finite");
  }
  // As many types as sel_a has elements, where it is for each type.
  deepmd_node_t* node = set_up(&e, "ProdEnvMatA", true);
  node->inputs[2].columns = 3;
  expect_refused(node, TF_INVALID_ARGUMENT, "natoms tells of 1 types, must be as many as the 2");
}

static void test_boxes(void** state) {
  environment_t e;
  deepmd_node_t* node = set_up(&e, "ProdEnvMatA", true);
  memset(e.system.box, 0, sizeof e.system.box);
  expect_refused(node, TF_INVALID_ARGUMENT, "box has volume 0");
  node = set_up(&e, "ProdEnvMatA", true);
  memcpy(e.system.box, e.system.box + 3, 3 * sizeof(double));  // two edges are the same
  expect_refused(node, TF_INVALID_ARGUMENT, "box has volume 0");
  node = set_up(&e, "ProdEnvMatA", true);
  e.system.box[4] = NAN;
  expect_refused(node, TF_INVALID_ARGUMENT, "box[4] is");
  node = set_up(&e, "ProdEnvMatA", true);
  for (int i = 0; i < 9; ++i) e.system.box[i] *= 1e200;
  expect_refused(node, TF_INVALID_ARGUMENT, "box has volume");
  node = set_up(&e, "ProdEnvMatA", true);
  for (int i = 0; i < 9; ++i) e.system.box[i] *= 1e-9;
  expect_refused(node, TF_INVALID_ARGUMENT, "e-09, too little for a cutoff of 3");
  // Few cells that hold many atoms each: what counts is the number of images.
  node = set_up(&e, "ProdEnvMatA", true);
  for (int i = 0; i < 9; ++i) e.system.box[i] *= 0.004;
  expect_refused(node, TF_INVALID_ARGUMENT, "images of its atoms within the cutoff of 3, must");
  // Far away in a box that is very long; and coordinates that have no difference in float.
  node = set_up(&e, "ProdEnvMatA", true);
  e.system.box[0] = 1e12;
  e.system.coord[0] = -1e15;
  expect_runs(node);
  node = set_up(&e, "ProdEnvMatA", false);
  e.system.coord[0] = 1e300;
  e.system.coord[3] = -1e308;
  e.system.coord[6] = 1e308;
  expect_runs(node);
  // A box in open space is not looked at.
  node = set_up(&e, "ProdEnvMatA", false);
  memset(e.system.box, 0, sizeof e.system.box);
  expect_runs(node);
}

static void test_meshes(void** state) {
  environment_t e;
  deepmd_node_t* node;
  for (int o = 0; o < 3; ++o) {
    bool mixed = o == 2;
    for (int64_t size = 0; size <= 17; ++size) {
      node = set_up(&e, kOps[o], false);
      node->inputs[4].columns = size;
      if (size == 0 || size == 6 || (mixed && (size == 1 || size == 7))) {
        expect_runs(node);
      } else if (size == 16) {
        expect_refused(node, TF_UNIMPLEMENTED, "mesh has 16 elements: addresses of neighbor lists");
      } else {
        char text[100];
        snprintf(text, sizeof text, "mesh has %d elements, must be", (int)size);
        expect_refused(node, TF_INVALID_ARGUMENT, text);
      }
    }
  }
}

// Lists in the mesh: of 6 atoms, 2 local; each case changes one element.
static void test_lists(void** state) {
  static const int32_t kLists[] = {1, 0, 2, 3, 5, 2, 1, 2, 4};  // atoms, numbers, neighbors
  static const struct {
    int place;
    int32_t value;
    const char* text;
  } kCases[] = {
      {0, 2, "mesh[16] is 2, must be a local atom without a list yet"},
      {0, -1, "mesh[16] is -1, must be a local atom"},
      {1, 1, "mesh[17] is 1, must be a local atom without a list yet"},
      {2, 6, "mesh[18] is 6, must be a number of neighbors that follow"},
      {3, -1, "mesh[19] is -1, must be a number of neighbors that follow"},
      {3, 4, "mesh[19] is 4, must be a number of neighbors that follow"},
      {4, 6, "mesh[20] is 6, must be an atom below 6 other than 1"},
      {5, 1, "mesh[21] is 1, must be an atom below 6 other than 1"},
      {8, -1, "mesh[24] is -1, must be an atom below 6"},
  };
  environment_t e;
  for (size_t c = 0; c <= sizeof kCases / sizeof *kCases; ++c) {
    deepmd_node_t* node = set_up(&e, "ProdEnvMatA", false);
    e.natoms[0] = 2;
    memcpy(e.system.mesh + 16, kLists, sizeof kLists);
    node->inputs[4].columns = 25;
    if (c == sizeof kCases / sizeof *kCases) {
      expect_runs(node);
      continue;
    }
    e.system.mesh[16 + kCases[c].place] = kCases[c].value;
    expect_refused(node, TF_INVALID_ARGUMENT, kCases[c].text);
  }
}

static void test_attributes(void** state) {
  environment_t e;
  deepmd_node_t* node = set_up(&e, "ProdEnvMatA", true);
  node->sel[1] = -1;
  expect_refused(node, TF_INVALID_ARGUMENT, "sel_a[1] is -1, must be from 0 on");
  node = set_up(&e, "ProdEnvMatR", true);
  node->sel[0] = INT64_MAX;
  expect_refused(node, TF_INVALID_ARGUMENT, "sel[0] is 9223372036854775807, must be from 0 on");
  node = set_up(&e, "ProdEnvMatA", true);
  node->sel_r = 3;
  expect_refused(node, TF_INVALID_ARGUMENT, "sel_r[0] is 3, must be 0");
  node = set_up(&e, "ProdEnvMatAMix", true);
  node->sel_count = 2;
  expect_refused(node, TF_INVALID_ARGUMENT, "sel_a has 2 elements, must be 1");
  for (int o = 0; o < 3; ++o) {
    node = set_up(&e, kOps[o], true);
    node->rcut = 0;
    expect_refused(node, TF_INVALID_ARGUMENT, "the cutoff is 0");
    node = set_up(&e, kOps[o], true);
    node->rcut = NAN;
    expect_refused(node, TF_INVALID_ARGUMENT, "the cutoff is");
  }
}

// ---- anything -----------------------------------------------------------------------------------

static uint32_t next_random(uint32_t* inout_seed) {
  *inout_seed = *inout_seed * 1664525 + 1013904223;
  return *inout_seed >> 8;
}

// Numbers that are at the end of something.
static int32_t odd_int(uint32_t* seed) {
  static const int32_t kOdd[] = {0, 1, -1, 2, 3, 5, 6, 7, 12, 100, 65536, INT32_MAX, INT32_MIN};
  return kOdd[next_random(seed) % (sizeof kOdd / sizeof *kOdd)];
}

static double odd_real(uint32_t* seed) {
  static const double kOdd[] = {0,    -0.0,  1e-300, 1e-30,    1e9,       -1e17,
                                1e38, 1e308, NAN,    INFINITY, -INFINITY, 1e-3};
  return kOdd[next_random(seed) % (sizeof kOdd / sizeof *kOdd)];
}

// Up to four changes of a node that runs: whatever they are, it runs or tells what is wrong. What
// it reads or writes beside its tensors is for a sanitizer to find.
static void test_anything(void** state) {
  uint32_t seed = 5;
  int ran = 0, refused = 0;
  environment_t e;
  TF_Status* s = TF_NewStatus();
  for (int round = 0; round < 3000; ++round) {
    deepmd_node_t* node = set_up(&e, kOps[round % 3], next_random(&seed) % 2);
    if (round % 5 == 0) {
      e.natoms[0] = 2;
      node->inputs[4].columns = 17 + next_random(&seed) % 12;
      e.system.mesh[16] = 1;
    }
    for (int change = next_random(&seed) % 4; change >= 0; --change) {
      deepmd_value_t* value = &node->inputs[next_random(&seed) % 7];
      switch (next_random(&seed) % 9) {
        case 0: value->columns += value->columns > 0 && next_random(&seed) % 2 ? -1 : 1; break;
        case 1: value->rows = next_random(&seed) % 3; break;
        case 2: e.natoms[next_random(&seed) % 4] = odd_int(&seed); break;
        case 3: e.system.type[next_random(&seed) % 6] = odd_int(&seed); break;
        case 4: e.system.mesh[16 + next_random(&seed) % 12] = odd_int(&seed); break;
        case 5: e.system.box[next_random(&seed) % 9] = odd_real(&seed); break;
        case 6: e.system.coord[next_random(&seed) % 18] = odd_real(&seed); break;
        case 7: node->rcut_smth = odd_real(&seed); break;
        default: node->rcut = odd_real(&seed); break;
      }
    }
    TF_Code code = deepmd_run(node, NULL, NULL, s);
    if (code != TF_OK && code != TF_INVALID_ARGUMENT) fail_msg("code %d: %s", code, TF_Message(s));
    code == TF_OK ? ++ran : ++refused;
  }
  assert_true(ran > 200 && refused > 200);
  TF_DeleteStatus(s);
}

// ---- forces and virials -------------------------------------------------------------------------

static const double kNumbers[400];

// Two local atoms of three, with two places each.
static deepmd_node_t product(const char* op, int32_t* natoms, int32_t* list) {
  bool virial = strstr(op, "Virial") != NULL;
  int width = strstr(op, "SeR") ? 1 : 4;
  const int32_t counts[] = {2, 3, 2}, neighbors[] = {1, 2, 0, -1};
  memcpy(natoms, counts, sizeof counts);
  memcpy(list, neighbors, sizeof neighbors);
  deepmd_node_t node = {.op = op,
                        .dtype = TF_DOUBLE,
                        .input_count = virial ? 5 : 4,
                        .output_count = virial ? 2 : 1,
                        .inputs = {{1, 4 * width, NULL, kNumbers}, {1, 12 * width, NULL, kNumbers}},
                        .total_atom_num = -1};
  if (virial) node.inputs[2] = (deepmd_value_t){1, 12, NULL, kNumbers};
  node.inputs[virial ? 3 : 2] = (deepmd_value_t){1, 4, list, NULL};
  node.inputs[virial ? 4 : 3] = (deepmd_value_t){-1, 3, natoms, NULL};
  return node;
}

static void test_products(void** state) {
  static const char* const kProducts[] = {"ProdForceSeA", "ProdForceSeR", "ProdVirialSeA",
                                          "ProdVirialSeR"};
  int32_t natoms[3], list[4];
  for (int o = 0; o < 4; ++o) {
    const char* op = kProducts[o];
    int nlist = o < 2 ? 2 : 3;
    deepmd_node_t node = product(op, natoms, list);
    expect_runs(&node);
    for (int i = 0; i <= nlist; ++i) {
      node = product(op, natoms, list);
      node.inputs[i].rows = -1;
      expect_refused(&node, TF_INVALID_ARGUMENT, "has rank 1, must be 2");
      if (i == 0) continue;
      node = product(op, natoms, list);
      node.inputs[i].rows = 2;
      node.inputs[i].columns /= 2;
      expect_refused(&node, TF_INVALID_ARGUMENT, "has 2 rows, must be 1");
    }
    node = product(op, natoms, list);
    --node.inputs[0].columns;
    expect_refused(&node, TF_INVALID_ARGUMENT, "net_deriv has");
    node = product(op, natoms, list);
    ++node.inputs[1].columns;
    expect_refused(&node, TF_INVALID_ARGUMENT, "in_deriv has");
    node = product(op, natoms, list);
    node.inputs[nlist].columns = 3;
    expect_refused(&node, TF_INVALID_ARGUMENT, "nlist has 3 columns, must be a multiple of the 2");
    node = product(op, natoms, list);
    list[3] = 3;
    expect_refused(&node, TF_INVALID_ARGUMENT,
                   "nlist[0, 3] is 3, must be less than the number of atoms, 3");
    node = product(op, natoms, list);
    natoms[0] = 0;
    expect_refused(&node, TF_INVALID_ARGUMENT, "nlist has 4 columns, must be 0");
    node = product(op, natoms, list);
    natoms[1] = 1;
    expect_refused(&node, TF_INVALID_ARGUMENT, "natoms[1] is 1, must be at least natoms[0], 2");
    node = product(op, natoms, list);
    natoms[0] = -5;
    expect_refused(&node, TF_INVALID_ARGUMENT, "natoms[0] is -5, must not be negative");
    if (o < 2) continue;
    node = product(op, natoms, list);
    node.inputs[2].columns = 9;
    expect_refused(&node, TF_INVALID_ARGUMENT, "rij has 9 columns, must be 12");
  }
}

// ---- a mask, and fragments ----------------------------------------------------------------------

static void test_mask(void** state) {
  static const int32_t kInts[9], kNatoms[] = {3, 3, 3}, kBeyond[9] = {0, 0, 0, 0, 3};
  const deepmd_node_t good = {.op = "DescrptSeAMask",
                              .dtype = TF_DOUBLE,
                              .input_count = 6,
                              .output_count = 4,
                              .inputs = {{1, 9, NULL, kNumbers},
                                         {1, 3, kInts, NULL},
                                         {1, 3, kInts, NULL},
                                         {1, 9, NULL, kNumbers},
                                         {-1, 3, kNatoms, NULL},
                                         {-1, 0, kInts, NULL}},
                              .total_atom_num = -1};
  deepmd_node_t node = good;
  expect_runs(&node);
  node.inputs[2].columns = 2;
  expect_refused(&node, TF_INVALID_ARGUMENT, "mask has 2 columns, must be 3");
  node = good;
  node.inputs[0].columns = 8;
  expect_refused(&node, TF_INVALID_ARGUMENT, "coord has 8 columns, must be 9");
  node = good;
  node.inputs[1].rows = 2;
  expect_refused(&node, TF_INVALID_ARGUMENT, "type has 2 rows, must be 1");
  const deepmd_node_t force = {.op = "ProdForceSeAMask",
                               .dtype = TF_DOUBLE,
                               .input_count = 4,
                               .output_count = 1,
                               .inputs = {{1, 36, NULL, kNumbers},
                                          {1, 108, NULL, kNumbers},
                                          {1, 3, kInts, NULL},
                                          {1, 9, kInts, NULL}},
                               .total_atom_num = 3};
  node = force;
  expect_runs(&node);
  node.inputs[3].ints = kBeyond;
  expect_refused(&node, TF_INVALID_ARGUMENT, "nlist[0, 4] is 3, must be less than");
  node = force;
  node.total_atom_num = 4;
  expect_refused(&node, TF_INVALID_ARGUMENT, "nlist has 9 columns, must be 16");
  node = force;
  node.total_atom_num = INT64_MAX;
  expect_refused(&node, TF_INVALID_ARGUMENT, "total_atom_num is 9223372036854775807");
  node = force;
  node.inputs[2].columns = 4;
  expect_refused(&node, TF_INVALID_ARGUMENT, "mask has 4 columns, must be 3");
}

static void test_fragments(void** state) {
  static const int32_t kIdxs[] = {0, 0, 1}, kNone[] = {-1, -1, -1}, kBad[] = {0, -2, 1};
  static const int32_t kNatoms[] = {3, 3, 3};
  const deepmd_node_t good = {.op = "DprcPairwiseIdx",
                              .input_count = 2,
                              .output_count = 7,
                              .inputs = {{1, 3, kIdxs, NULL}, {-1, 3, kNatoms, NULL}},
                              .total_atom_num = -1};
  deepmd_node_t node = good;
  expect_runs(&node);
  node.inputs[0].ints = kNone;
  expect_refused(&node, TF_INVALID_ARGUMENT, "idxs[0] is -1 everywhere");
  node = good;
  node.inputs[0].ints = kBad;
  expect_refused(&node, TF_INVALID_ARGUMENT, "idxs[0, 1] is -2, must be at least -1");
  node = good;
  node.inputs[0].columns = 2;
  expect_refused(&node, TF_INVALID_ARGUMENT, "idxs has 2 columns, must be 3");
  node = good;
  node.inputs[0].rows = 0;
  expect_refused(&node, TF_INVALID_ARGUMENT, "idxs has 0 rows, must have 1 at least");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_shapes), cmocka_unit_test(test_static_ranks),
      cmocka_unit_test(test_atoms),
      cmocka_unit_test(test_boxes),  cmocka_unit_test(test_meshes),
      cmocka_unit_test(test_lists),  cmocka_unit_test(test_attributes),
      cmocka_unit_test(test_anything), cmocka_unit_test(test_products),
      cmocka_unit_test(test_mask),   cmocka_unit_test(test_fragments),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
