// What the ops of examples/plugins/deepmd compute, judged by physics: with the energy
// E = sum of D^2 / 2 over the elements D of an environment matrix, whose derivative by D is D,
// forces must be minus the slopes of the energy, the virial must tell how the energy changes with
// the box, and a system that is moved as a whole must not change at all. Figures of single pairs of
// atoms are those of the formulas, computed by hand. Bad inputs are deepmd_input_test.c's.
#include <math.h>
#include <stdio.h>

#include "plugins/deepmd_kit.h"

static const double kBox[9] = {7, 0, 0, 0, 6.5, 0, 0, 0, 8};
static const double kSkewBox[9] = {7, 0.5, 0, -2, 6, 1, 0.3, 1, 9};
static const double kThinBox[9] = {2.2, 0, 0, 0.4, 5, 0, 0, 0, 6};
static double environment[6][DEEPMD_MOST_VALUES], products[2][DEEPMD_MOST_VALUES];

typedef struct outcome_t {
  double energy, force[3 * DEEPMD_MOST_ATOMS], virial[9], atom_virial[9 * DEEPMD_MOST_ATOMS];
} outcome_t;

// The energy of |system|, and its forces and virial unless |energy_only|.
static outcome_t evaluate(const char* op, const deepmd_system_t* system, TF_DataType dtype,
                          bool energy_only) {
  static double davg[2 * 360], dstd[2 * 360];
  bool radial = !strcmp(op, "ProdEnvMatR");
  int32_t natoms[4], list[36 * 90];
  int64_t counts[6];
  outcome_t outcome = {0};
  TF_Status* s = TF_NewStatus();
  deepmd_node_t node = deepmd_environment(op, system, natoms, davg, dstd);
  node.dtype = dtype;
  deepmd_run(&node, environment, counts, s);
  kit_ok(s);
  int width = radial ? 1 : 4, places = 90 * system->local;
  assert_int_equal(counts[0], places * width);
  assert_int_equal(counts[1], 3 * places * width);
  assert_int_equal(counts[2], 3 * places);
  assert_int_equal(counts[3], places);
  for (int i = 0; i < places * width; ++i) {
    outcome.energy += environment[0][i] * environment[0][i] / 2;
  }
  if (!energy_only) {
    for (int i = 0; i < places; ++i) list[i] = (int32_t)environment[3][i];
    const deepmd_value_t net = {1, counts[0], NULL, environment[0]};
    const deepmd_value_t deriv = {1, counts[1], NULL, environment[1]};
    const deepmd_value_t rij = {1, counts[2], NULL, environment[2]};
    const deepmd_value_t nlist = {1, places, list, NULL}, number = {-1, 4, natoms, NULL};
    deepmd_node_t force = {.op = radial ? "ProdForceSeR" : "ProdForceSeA",
                           .dtype = dtype,
                           .input_count = 4,
                           .output_count = 1,
                           .inputs = {net, deriv, nlist, number},
                           .total_atom_num = -1};
    deepmd_run(&force, products, NULL, s);
    kit_ok(s);
    memcpy(outcome.force, products[0], 3 * (size_t)system->all * sizeof(double));
    deepmd_node_t virial = {.op = radial ? "ProdVirialSeR" : "ProdVirialSeA",
                            .dtype = dtype,
                            .input_count = 5,
                            .output_count = 2,
                            .inputs = {net, deriv, rij, nlist, number},
                            .total_atom_num = -1};
    deepmd_run(&virial, products, NULL, s);
    kit_ok(s);
    memcpy(outcome.virial, products[0], sizeof outcome.virial);
    memcpy(outcome.atom_virial, products[1], 9 * (size_t)system->all * sizeof(double));
  }
  TF_DeleteStatus(s);
  return outcome;
}

static void expect_near(double actual, double expected, double tolerance) {
  if (fabs(actual - expected) <= tolerance * fmax(1, fabs(expected))) return;
  fail_msg("is %.12g, must be %.12g to %g", actual, expected, tolerance);
}

// ---- physics ------------------------------------------------------------------------------------

typedef struct case_t {
  const char* op;
  const double* box;
} case_t;

static const case_t kCases[] = {
    {"ProdEnvMatA", kBox},     {"ProdEnvMatA", kSkewBox}, {"ProdEnvMatA", kThinBox},
    {"ProdEnvMatA", NULL},     {"ProdEnvMatR", kSkewBox}, {"ProdEnvMatR", NULL},
    {"ProdEnvMatAMix", kSkewBox}, {"ProdEnvMatAMix", NULL}};
enum { CASES = sizeof kCases / sizeof *kCases };

static void test_forces(void** state) {
  const double step = 1e-5;
  for (int c = 0; c < CASES; ++c) {
    deepmd_system_t system = deepmd_system(14, kCases[c].box);
    outcome_t here = evaluate(kCases[c].op, &system, TF_DOUBLE, false);
    double sum[3] = {0};
    for (int i = 0; i < 3 * system.all; ++i) {
      double kept = system.coord[i];
      system.coord[i] = kept + step;
      double above = evaluate(kCases[c].op, &system, TF_DOUBLE, true).energy;
      system.coord[i] = kept - step;
      double below = evaluate(kCases[c].op, &system, TF_DOUBLE, true).energy;
      system.coord[i] = kept;
      expect_near(here.force[i], -(above - below) / (2 * step), 1e-6);
      sum[i % 3] += here.force[i];
    }
    for (int d = 0; d < 3; ++d) expect_near(sum[d], 0, 1e-11);
  }
}

// Stretches the system: x_a grows by |strain| x_b.
static deepmd_system_t strained(const deepmd_system_t* system, int a, int b, double strain) {
  deepmd_system_t changed = *system;
  for (int i = 0; i < system->all; ++i) {
    changed.coord[3 * i + a] += strain * system->coord[3 * i + b];
  }
  for (int edge = 0; edge < 3; ++edge) {
    changed.box[3 * edge + a] += strain * system->box[3 * edge + b];
  }
  return changed;
}

static void test_virial(void** state) {
  const double step = 1e-6;
  for (int c = 0; c < CASES; ++c) {
    deepmd_system_t system = deepmd_system(14, kCases[c].box);
    outcome_t here = evaluate(kCases[c].op, &system, TF_DOUBLE, false);
    for (int k = 0; k < 9; ++k) {
      deepmd_system_t more = strained(&system, k / 3, k % 3, step);
      deepmd_system_t less = strained(&system, k / 3, k % 3, -step);
      double slope = (evaluate(kCases[c].op, &more, TF_DOUBLE, true).energy -
                      evaluate(kCases[c].op, &less, TF_DOUBLE, true).energy) / (2 * step);
      expect_near(here.virial[k], -slope, 1e-5);
      double sum = 0;
      for (int i = 0; i < system.all; ++i) sum += here.atom_virial[9 * i + k];
      expect_near(sum, here.virial[k], 1e-11);
    }
  }
}

// Moved as a whole, the system stays the same, also where that moves atoms across the box.
static void test_translation(void** state) {
  const double shift[3] = {1.3, -20.7, 3.9};
  for (int c = 0; c < CASES; ++c) {
    deepmd_system_t system = deepmd_system(14, kCases[c].box), moved = system;
    for (int i = 0; i < 3 * system.all; ++i) moved.coord[i] += shift[i % 3];
    outcome_t here = evaluate(kCases[c].op, &system, TF_DOUBLE, false);
    outcome_t there = evaluate(kCases[c].op, &moved, TF_DOUBLE, false);
    expect_near(there.energy, here.energy, 1e-11);
    for (int i = 0; i < 3 * system.all; ++i) expect_near(there.force[i], here.force[i], 1e-9);
    for (int k = 0; k < 9; ++k) expect_near(there.virial[k], here.virial[k], 1e-9);
  }
}

static void test_float(void** state) {
  for (int c = 0; c < CASES; ++c) {
    deepmd_system_t system = deepmd_system(14, kCases[c].box);
    outcome_t here = evaluate(kCases[c].op, &system, TF_DOUBLE, false);
    outcome_t there = evaluate(kCases[c].op, &system, TF_FLOAT, false);
    expect_near(there.energy, here.energy, 1e-5);
    for (int i = 0; i < 3 * system.all; ++i) expect_near(there.force[i], here.force[i], 1e-4);
    for (int k = 0; k < 9; ++k) expect_near(there.virial[k], here.virial[k], 1e-4);
  }
}

// ---- where neighbors come from ------------------------------------------------------------------

// Twice as many atoms in a box of twice the size are twice as much of everything.
static void test_doubled_box(void** state) {
  deepmd_system_t system = deepmd_system(14, kSkewBox), doubled = system;
  doubled.local = doubled.all = 28;
  for (int i = 0; i < 14; ++i) {
    doubled.type[14 + i] = system.type[i];
    for (int d = 0; d < 3; ++d) {
      doubled.coord[3 * (14 + i) + d] = system.coord[3 * i + d] + system.box[3 + d];
    }
  }
  for (int d = 0; d < 3; ++d) doubled.box[3 + d] *= 2;
  outcome_t one = evaluate("ProdEnvMatA", &system, TF_DOUBLE, false);
  outcome_t two = evaluate("ProdEnvMatA", &doubled, TF_DOUBLE, false);
  expect_near(two.energy, 2 * one.energy, 1e-11);
  for (int i = 0; i < 3 * 28; ++i) expect_near(two.force[i], one.force[i % 42], 1e-9);
  for (int k = 0; k < 9; ++k) expect_near(two.virial[k], 2 * one.virial[k], 1e-9);
}

// A box is the same as open space with the images around it: 26 boxes of ghosts, whose forces are
// those of the atoms that they are images of.
static void test_images(void** state) {
  deepmd_system_t system = deepmd_system(12, kSkewBox), open = system;
  open.mesh_size = 0;
  for (int i = 0; i < 12; ++i) {  // atoms are one box too low or too high
    for (int d = 0; d < 3; ++d) {
      open.coord[3 * i + d] += (i % 3 == 0 ? -1 : 1) * system.box[6 + d];
    }
  }
  for (int image = 0; image < 27; ++image) {
    if (image == 13) continue;
    const int shift[3] = {image / 9 - 1, image / 3 % 3 - 1, image % 3 - 1};
    for (int i = 0; i < 12; ++i, ++open.all) {
      open.type[open.all] = system.type[i];
      for (int d = 0; d < 3; ++d) {
        open.coord[3 * open.all + d] = open.coord[3 * i + d] + shift[0] * system.box[d] +
                                       shift[1] * system.box[3 + d] + shift[2] * system.box[6 + d];
      }
    }
  }
  open.local = 12;
  outcome_t here = evaluate("ProdEnvMatA", &system, TF_DOUBLE, false);
  outcome_t there = evaluate("ProdEnvMatA", &open, TF_DOUBLE, false);
  expect_near(there.energy, here.energy, 1e-11);
  for (int k = 0; k < 9; ++k) expect_near(there.virial[k], here.virial[k], 1e-9);
  for (int i = 0; i < 36; ++i) {
    double sum = 0;
    for (int image = 0; image < 27; ++image) sum += there.force[36 * image + i];
    expect_near(sum, here.force[i], 1e-9);
  }
}

// Lists in the mesh, which name every other atom in any order, give what a search gives. The last
// four atoms are ghosts: neighbors without an environment of their own.
static void test_lists(void** state) {
  static const char* const kOps[] = {"ProdEnvMatA", "ProdEnvMatR", "ProdEnvMatAMix"};
  for (int o = 0; o < 3; ++o) {
    deepmd_system_t system = deepmd_system(14, NULL), listed;
    system.local = 10;
    listed = system;
    int32_t* next = listed.mesh + 16;
    for (int i = 0; i < 10; ++i) *next++ = (i * 3 + 4) % 10;
    for (int i = 0; i < 10; ++i) *next++ = 13;
    for (int i = 0; i < 10; ++i) {
      for (int j = 13; j >= 0; --j) {
        if (j != (i * 3 + 4) % 10) *next++ = j;
      }
    }
    listed.mesh_size = next - listed.mesh;
    outcome_t here = evaluate(kOps[o], &system, TF_DOUBLE, false);
    outcome_t there = evaluate(kOps[o], &listed, TF_DOUBLE, false);
    assert_true(here.energy == there.energy);
    bool ghosts = false;
    for (int i = 0; i < 3 * 14; ++i) {
      assert_true(here.force[i] == there.force[i]);
      ghosts = ghosts || (i >= 30 && here.force[i] != 0);
    }
    assert_true(ghosts);
  }
}

// Atoms that need a grid of many cells, beside lists of all atoms.
static void test_cells(void** state) {
  static const double kLarge[9] = {12, 0, 0, 0, 13, 0, 0, 0, 9};
  deepmd_system_t system = deepmd_system(36, kLarge), listed;
  system.mesh_size = 0;
  listed = system;
  int32_t* next = listed.mesh + 16;
  for (int i = 0; i < 36; ++i) *next++ = i;
  for (int i = 0; i < 36; ++i) *next++ = 35;
  for (int i = 0; i < 36; ++i) {
    for (int j = 0; j < 36; ++j) {
      if (j != i) *next++ = j;
    }
  }
  listed.mesh_size = next - listed.mesh;
  outcome_t here = evaluate("ProdEnvMatA", &system, TF_DOUBLE, false);
  outcome_t there = evaluate("ProdEnvMatA", &listed, TF_DOUBLE, false);
  assert_true(here.energy == there.energy);
  for (int i = 0; i < 3 * 36; ++i) assert_true(here.force[i] == there.force[i]);
}

// Atoms on a line, all of them within the cutoff of the first: of each type the nearest find
// places, in the order of their distance. A virtual atom is nobody's neighbor and has an empty
// matrix.
static void test_few_places(void** state) {
  static double davg[2 * 360], dstd[2 * 360];
  static const double kPlaces[] = {0, 1.1, 0.8, 2.9, 1.7, 0.4, 1.3, 2.2};
  static const int32_t kTypes[] = {0, 0, 1, 0, 1, -1, 0, 0};
  deepmd_system_t system = deepmd_system(8, NULL);
  for (int i = 0; i < 8; ++i) {
    system.type[i] = kTypes[i];
    for (int d = 0; d < 3; ++d) system.coord[3 * i + d] = d == 1 ? kPlaces[i] : 0.5;
  }
  int32_t natoms[4];
  TF_Status* s = TF_NewStatus();
  deepmd_node_t node = deepmd_environment("ProdEnvMatA", &system, natoms, davg, dstd);
  node.sel[0] = 3;
  node.sel[1] = 4;
  node.inputs[5].columns = node.inputs[6].columns = 28;
  deepmd_run(&node, environment, NULL, s);
  kit_ok(s);
  const int32_t first[] = {1, 6, 7, 2, 4, -1, -1}, seventh[] = {3, 6, 1, 4, 2, -1, -1};
  for (int p = 0; p < 7; ++p) {
    assert_int_equal(environment[3][p], first[p]);
    assert_int_equal(environment[3][7 * 7 + p], seventh[p]);
  }
  for (int e = 0; e < 28; ++e) assert_true(environment[0][28 * 5 + e] == 0);
  // The same with one section: the nearest of all types, and which type each has.
  node = deepmd_environment("ProdEnvMatAMix", &system, natoms, davg, dstd);
  node.sel[0] = 8;
  node.inputs[5].columns = node.inputs[6].columns = 32;
  deepmd_run(&node, environment, NULL, s);
  kit_ok(s);
  const int32_t nearest[] = {2, 1, 6, 4, 7, 3, -1, -1}, types[] = {1, 0, 0, 1, 0, 0, 2, 2};
  for (int p = 0; p < 8; ++p) {
    assert_int_equal(environment[3][p], nearest[p]);
    assert_int_equal(environment[4][p], types[p]);
    assert_int_equal(environment[5][p], nearest[p] >= 0);
  }
  TF_DeleteStatus(s);
}

// One pair of atoms at the distance 2 along (2, -1, 2) * 2/3, the cutoff 3 and smooth from 1 on:
// u = 1/2, w = 1 - 10/8 + 15/16 - 6/32 = 1/2, so s = 1/4 and s x/r = 1/6.
static void test_one_pair(void** state) {
  static double davg[2 * 360], dstd[2 * 360];
  deepmd_system_t system = deepmd_system(2, NULL);
  const double coord[6] = {1, 1, 1, 1 + 4.0 / 3, 1 - 2.0 / 3, 1 + 4.0 / 3};
  memcpy(system.coord, coord, sizeof coord);
  system.type[0] = system.type[1] = 1;
  int32_t natoms[4];
  TF_Status* s = TF_NewStatus();
  deepmd_node_t node = deepmd_environment("ProdEnvMatA", &system, natoms, davg, dstd);
  node.sel[0] = 1;
  node.sel[1] = 2;
  node.inputs[5].columns = node.inputs[6].columns = 12;
  for (int i = 0; i < 24; ++i) {
    davg[i] = i == 16 ? 0.05 : 0;  // of the second type, the first element of place 1
    dstd[i] = i == 17 ? 0.5 : 1;
  }
  deepmd_run(&node, environment, NULL, s);
  kit_ok(s);
  const double row[12] = {0, 0, 0, 0, 0.2, 1.0 / 3, -1.0 / 12, 1.0 / 6};
  for (int e = 0; e < 12; ++e) expect_near(environment[0][e], row[e], 1e-12);
  for (int d = 0; d < 3; ++d) expect_near(environment[2][3 + d], coord[3 + d] - coord[d], 1e-12);
  // ds/dr = w'/r - w/r^2 with w' = -30/16 / 2 = -15/16: -19/32, and the central atom's share of it
  // by x is 2/3 of that, with the sign changed.
  expect_near(environment[1][12], 19.0 / 48, 1e-12);
  TF_DeleteStatus(s);
}

// ---- a mask, and fragments ----------------------------------------------------------------------

static double masked_energy(const double* coord, const int32_t* mask, TF_Status* s) {
  static const int32_t kTypes[] = {0, 1, 1, 0, 0}, kNatoms[] = {5, 5, 3, 2}, kNone[1];
  static const double kEdges[9];
  deepmd_node_t node = {.op = "DescrptSeAMask",
                        .dtype = TF_DOUBLE,
                        .input_count = 6,
                        .output_count = 4,
                        .inputs = {{1, 15, NULL, coord},
                                   {1, 5, kTypes, NULL},
                                   {1, 5, mask, NULL},
                                   {1, 9, NULL, kEdges},
                                   {-1, 4, kNatoms, NULL},
                                   {-1, 0, kNone, NULL}},
                        .total_atom_num = -1};
  deepmd_run(&node, environment, NULL, s);
  kit_ok(s);
  double energy = 0;
  for (int e = 0; e < 100; ++e) energy += environment[0][e] * environment[0][e] / 2;
  return energy;
}

static void test_mask(void** state) {
  const int32_t mask[] = {1, 1, 1, 0, 1};
  double coord[15] = {0, 0, 0, 1, 0.2, 0.1, 0.3, 1.4, 0.2, 0.5, 0.5, 0.5, -0.6, 0.4, 1.5};
  const double step = 1e-5;
  TF_Status* s = TF_NewStatus();
  masked_energy(coord, mask, s);
  // The first atom's list: types in order, then distance; itself and the masked atom come last.
  const int32_t expected[] = {4, 0, 3, 1, 2};
  int32_t list[25];
  for (int p = 0; p < 25; ++p) list[p] = (int32_t)environment[3][p];
  for (int p = 0; p < 5; ++p) assert_int_equal(list[p], expected[p]);
  expect_near(environment[0][0], 1 / sqrt(0.36 + 0.16 + 2.25), 1e-12);
  for (int e = 4; e < 12; ++e) assert_true(environment[0][e] == 0);
  for (int p = 15; p < 20; ++p) assert_int_equal(list[p], -1);
  deepmd_node_t node = {.op = "ProdForceSeAMask",
                        .dtype = TF_DOUBLE,
                        .input_count = 4,
                        .output_count = 1,
                        .inputs = {{1, 100, NULL, environment[0]},
                                   {1, 300, NULL, environment[1]},
                                   {1, 5, mask, NULL},
                                   {1, 25, list, NULL}},
                        .total_atom_num = 5};
  deepmd_run(&node, products, NULL, s);
  kit_ok(s);
  for (int i = 0; i < 15; ++i) {
    double kept = coord[i];
    coord[i] = kept + step;
    double above = masked_energy(coord, mask, s);
    coord[i] = kept - step;
    double below = masked_energy(coord, mask, s);
    coord[i] = kept;
    expect_near(products[0][i], -(above - below) / (2 * step), 1e-7);
  }
  // Where all atoms are masked there are no forces, whatever the derivatives are.
  const int32_t nobody[5] = {0};
  masked_energy(coord, mask, s);
  node.inputs[2].ints = nobody;
  deepmd_run(&node, products, NULL, s);
  kit_ok(s);
  for (int i = 0; i < 15; ++i) assert_true(products[0][i] == 0);
  TF_DeleteStatus(s);
}

// Atoms 3, 4 and the ghost 10 are the quantum region, the others three molecules.
static void test_fragments(void** state) {
  const int32_t idxs[] = {1, 1, 1, 0, 0, 2, 2, 2, 3, 3, 0, 1}, natoms[] = {10, 12, 10, 0};
  static const int32_t kForward[] = {3, 4, 0, 1, 2, 10, 11, 3, 4, 5, 6, 7,
                                     10, -1, 3, 4, 8, 9, -1, 10, -1};
  static const int32_t kBackward[] = {2,  3,  4,  0,  1,  -1, -1, -1, -1, -1, 5,  6,
                                      -1, -1, -1, 0,  1,  2,  3,  4,  -1, -1, 5,  -1,
                                      -1, -1, -1, 0,  1,  -1, -1, -1, 2,  3,  5,  -1};
  static const int32_t kBackwardQm[] = {-1, -1, -1, 0, 1, -1, -1, -1, -1, -1, 2, -1};
  int64_t counts[7];
  static double values[7][DEEPMD_MOST_VALUES];
  TF_Status* s = TF_NewStatus();
  deepmd_node_t node = {.op = "DprcPairwiseIdx",
                        .input_count = 2,
                        .output_count = 7,
                        .inputs = {{1, 12, idxs, NULL}, {-1, 4, natoms, NULL}},
                        .total_atom_num = -1};
  deepmd_run(&node, values, counts, s);
  kit_ok(s);
  assert_int_equal(counts[0], 3);
  assert_true(values[0][0] == 3 && values[0][1] == 4 && values[0][2] == 10);
  assert_int_equal(counts[2], 21);
  assert_int_equal(counts[3], 36);
  for (int i = 0; i < 12; ++i) assert_int_equal(values[1][i], kBackwardQm[i]);
  for (int i = 0; i < 21; ++i) assert_int_equal(values[2][i], kForward[i]);
  for (int i = 0; i < 36; ++i) assert_int_equal(values[3][i], kBackward[i]);
  const int32_t qm[] = {2, 3, 2, 0}, qmmm[] = {5, 7, 5, 0};
  for (int i = 0; i < 4; ++i) {
    assert_int_equal(values[4][i], qm[i]);
    assert_int_equal(values[5][i], qmmm[i]);
  }
  assert_int_equal(counts[6], 3);
  TF_DeleteStatus(s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_forces),      cmocka_unit_test(test_virial),
      cmocka_unit_test(test_translation), cmocka_unit_test(test_float),
      cmocka_unit_test(test_doubled_box), cmocka_unit_test(test_images),
      cmocka_unit_test(test_cells),       cmocka_unit_test(test_lists),
      cmocka_unit_test(test_few_places),  cmocka_unit_test(test_one_pair),
      cmocka_unit_test(test_mask),        cmocka_unit_test(test_fragments),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
