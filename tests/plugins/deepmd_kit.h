// Runs single ops of the plug-in of examples/plugins/deepmd, which is loaded from the build folder
// on first use. Real values are double in the tests, whatever type the op computes with.
#ifndef LEAT_TESTS_PLUGINS_DEEPMD_KIT_H_
#define LEAT_TESTS_PLUGINS_DEEPMD_KIT_H_

#include "capi/kit.h"

enum {
  DEEPMD_MOST_ATOMS = 400,
  DEEPMD_MOST_INPUTS = 7,
  DEEPMD_MOST_OUTPUTS = 7,
  DEEPMD_MOST_VALUES = 45000
};

// A vector (|rows| below 0) or a matrix, of int32 or of reals.
typedef struct deepmd_value_t {
  int64_t rows, columns;
  const int32_t* ints;  // one of the two
  const double* reals;
} deepmd_value_t;

typedef struct deepmd_node_t {
  const char* op;
  TF_DataType dtype;  // of the attribute T; 0: there is none
  int input_count, output_count;
  deepmd_value_t inputs[DEEPMD_MOST_INPUTS];
  // Attributes of environment matrices; |sel_count| 0: the node has none of them.
  double rcut, rcut_smth;
  int sel_count;
  int64_t sel[4], sel_r;
  int64_t total_atom_num;  // below 0: there is none
} deepmd_node_t;

void deepmd_load(void);
// Outputs as reals: |out_counts| elements each; may be NULL. Gives the code, which |s| has too.
TF_Code deepmd_run(const deepmd_node_t* node, double (*out_values)[DEEPMD_MOST_VALUES],
                   int64_t* out_counts, TF_Status* s);

// A made system of two types in a box (its edges are rows) or in open space.
typedef struct deepmd_system_t {
  int32_t local, all;
  double coord[3 * DEEPMD_MOST_ATOMS], box[9];
  int32_t type[DEEPMD_MOST_ATOMS];
  int32_t mesh[2000];
  int64_t mesh_size;
} deepmd_system_t;

deepmd_system_t deepmd_system(int32_t atoms, const double* box);  // NULL: open space
// The environment matrix of |system| as |op|: "ProdEnvMatA", "ProdEnvMatR" or "ProdEnvMatAMix".
// davg and dstd differ by type and by component, but not by place.
deepmd_node_t deepmd_environment(const char* op, const deepmd_system_t* system, int32_t* natoms,
                                 double* davg, double* dstd);

#endif  // LEAT_TESTS_PLUGINS_DEEPMD_KIT_H_
