#include "plugins/deepmd_kit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

void deepmd_load(void) {
  static bool loaded;
  char path[1000];
  if (loaded) return;
  TF_Status* s = TF_NewStatus();
  snprintf(path, sizeof path, "%s/lib/deepmd_plugin.so", getenv("LEAT_BUILD_DIR"));
  TF_DeleteLibraryHandle(TF_LoadLibrary(path, s));
  kit_ok(s);
  TF_DeleteStatus(s);
  loaded = true;
}

// ---- one node -----------------------------------------------------------------------------------

static TF_Tensor* tensor_of(const deepmd_value_t* value, TF_DataType dtype) {
  int rank = value->rows < 0 ? 1 : 2;
  int64_t dims[2] = {value->rows, value->columns};
  int64_t count = (rank == 2 ? value->rows : 1) * value->columns;
  if (value->ints) dtype = TF_INT32;
  TF_Tensor* tensor = TF_AllocateTensor(dtype, rank == 2 ? dims : dims + 1, rank,
                                        (size_t)count * TF_DataTypeSize(dtype));
  void* to = TF_TensorData(tensor);
  for (int64_t i = 0; i < count; ++i) {
    if (value->ints) {
      ((int32_t*)to)[i] = value->ints[i];
    } else if (dtype == TF_FLOAT) {
      ((float*)to)[i] = (float)value->reals[i];
    } else {
      ((double*)to)[i] = value->reals[i];
    }
  }
  return tensor;
}

static void set_attrs(const deepmd_node_t* node, TF_OperationDescription* desc) {
  bool radial = !strcmp(node->op, "ProdEnvMatR");
  const int64_t zeros[4] = {node->sel_r};
  if (node->dtype) TF_SetAttrType(desc, "T", node->dtype);
  if (node->total_atom_num >= 0) TF_SetAttrInt(desc, "total_atom_num", node->total_atom_num);
  if (!strcmp(node->op, "ProdForceSeA") || !strcmp(node->op, "ProdVirialSeA")) {
    TF_SetAttrInt(desc, "n_a_sel", 1);
    TF_SetAttrInt(desc, "n_r_sel", 0);
  }
  if (node->sel_count == 0) return;
  TF_SetAttrFloat(desc, radial ? "rcut" : "rcut_r", (float)node->rcut);
  TF_SetAttrFloat(desc, radial ? "rcut_smth" : "rcut_r_smth", (float)node->rcut_smth);
  TF_SetAttrIntList(desc, radial ? "sel" : "sel_a", node->sel, node->sel_count);
  if (radial) return;
  TF_SetAttrFloat(desc, "rcut_a", -1);
  TF_SetAttrIntList(desc, "sel_r", zeros, node->sel_count);
}

static void read_output(const TF_Tensor* tensor, double* out_values, int64_t* out_count) {
  int64_t count = TF_TensorElementCount(tensor);
  const void* from = TF_TensorData(tensor);
  assert_true(count <= DEEPMD_MOST_VALUES);
  for (int64_t i = 0; i < count; ++i) {
    switch (TF_TensorType(tensor)) {
      case TF_FLOAT: out_values[i] = ((const float*)from)[i]; break;
      case TF_DOUBLE: out_values[i] = ((const double*)from)[i]; break;
      case TF_INT32: out_values[i] = ((const int32_t*)from)[i]; break;
      default: out_values[i] = ((const unsigned char*)from)[i]; break;
    }
  }
  if (out_count) *out_count = count;
}

TF_Code deepmd_run(const deepmd_node_t* node, double (*out_values)[DEEPMD_MOST_VALUES],
                   int64_t* out_counts, TF_Status* s) {
  TF_Output feeds[DEEPMD_MOST_INPUTS], fetches[DEEPMD_MOST_OUTPUTS];
  TF_Tensor *fed[DEEPMD_MOST_INPUTS], *fetched[DEEPMD_MOST_OUTPUTS] = {NULL};
  deepmd_load();
  TF_Graph* graph = TF_NewGraph();
  for (int i = 0; i < node->input_count; ++i) {
    char name[20];
    snprintf(name, sizeof name, "in%d", i);
    fed[i] = tensor_of(&node->inputs[i], node->dtype);
    feeds[i] = kit_out(kit_placeholder(graph, name, TF_TensorType(fed[i])), 0);
  }
  TF_OperationDescription* desc = TF_NewOperation(graph, node->op, "y");
  for (int i = 0; i < node->input_count; ++i) TF_AddInput(desc, feeds[i]);
  set_attrs(node, desc);
  TF_Operation* y = kit_finish(desc);
  for (int i = 0; i < node->output_count; ++i) fetches[i] = kit_out(y, i);
  TF_Session* session = kit_session(graph);
  TF_SessionRun(session, NULL, feeds, fed, node->input_count, fetches, fetched,
                node->output_count, NULL, 0, NULL, s);
  TF_Code code = TF_GetCode(s);
  for (int i = 0; i < node->output_count; ++i) {
    if (code == TF_OK && out_values) {
      read_output(fetched[i], out_values[i], out_counts ? &out_counts[i] : NULL);
    }
    TF_DeleteTensor(fetched[i]);
  }
  for (int i = 0; i < node->input_count; ++i) TF_DeleteTensor(fed[i]);
  kit_close(session);
  TF_DeleteGraph(graph);
  return code;
}

// ---- systems ------------------------------------------------------------------------------------

deepmd_system_t deepmd_system(int32_t atoms, const double* box) {
  static const double kCube[9] = {5, 0, 0, 0, 5, 0, 0, 0, 5};
  deepmd_system_t system = {.local = atoms, .all = atoms, .mesh_size = box ? 6 : 0};
  memcpy(system.box, box ? box : kCube, sizeof system.box);
  for (int32_t i = 0; i < atoms; ++i) {
    // Fractions that no two atoms share; some atoms are outside the box.
    double fraction[3] = {fmod(0.37 + 0.618034 * i, 1), fmod(0.11 + 0.754878 * i, 1),
                          fmod(0.73 + 0.569840 * i, 1) + (i % 3 == 0 ? 1 : -1)};
    if (!box) fraction[2] = fmod(fraction[2] + 1, 1);
    for (int d = 0; d < 3; ++d) {
      system.coord[3 * i + d] = fraction[0] * system.box[d] + fraction[1] * system.box[3 + d] +
                                fraction[2] * system.box[6 + d];
    }
    system.type[i] = i % 3 == 1;
  }
  return system;
}

deepmd_node_t deepmd_environment(const char* op, const deepmd_system_t* system, int32_t* natoms,
                                 double* davg, double* dstd) {
  bool mixed = !strcmp(op, "ProdEnvMatAMix");
  int width = !strcmp(op, "ProdEnvMatR") ? 1 : 4;
  int64_t places = 90, columns = places * width;
  for (int64_t type = 0; type < 2; ++type) {
    for (int64_t c = 0; c < columns; ++c) {
      davg[type * columns + c] = 0.1 + 0.05 * (double)type + 0.02 * (double)(c % width);
      dstd[type * columns + c] = 0.7 + 0.2 * (double)type - 0.1 * (double)(c % width);
    }
  }
  natoms[0] = natoms[2] = system->local;
  natoms[1] = system->all;
  natoms[3] = 0;
  return (deepmd_node_t){.op = op,
                         .dtype = TF_DOUBLE,
                         .input_count = 7,
                         .output_count = mixed ? 6 : 4,
                         .inputs = {{1, 3 * system->all, NULL, system->coord},
                                    {1, system->all, system->type, NULL},
                                    {-1, 4, natoms, NULL},
                                    {1, 9, NULL, system->box},
                                    {-1, system->mesh_size, system->mesh, NULL},
                                    {2, columns, NULL, davg},
                                    {2, columns, NULL, dstd}},
                         .rcut = 3,
                         .rcut_smth = 1,
                         .sel_count = mixed ? 1 : 2,
                         .sel = {mixed ? places : 50, places - 50},
                         .total_atom_num = -1};
}
