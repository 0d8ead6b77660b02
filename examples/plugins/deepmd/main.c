// Loads the library of DeePMD's ops and computes forces with them:
//
//   deepmd [lib/deepmd_plugin.so]
//   32 atoms in a box: energy 2523.64
//   forces are minus the slopes of the energy to 9.1e-08, and their sum is 9.7e-16
//   pressure from the virial -0.127894, from the energies of two boxes -0.127894
//
// The energy is a simple function of the environment matrix, in the place of a trained network:
// E = sum of (D - 1)^2 / 2 over all elements D. Its derivative by D, D - 1, goes into ProdForceSeA
// and ProdVirialSeA, as in a frozen model of DeePMD-kit.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tensorflow/c/c_api.h"

enum { ATOMS = 32, PLACES = 40, COLUMNS = 4 * PLACES };

typedef struct model_t {
  TF_Graph* graph;
  TF_Session* session;
  TF_Output coord, box;             // fed
  TF_Output energy, force, virial;  // fetched
  TF_Status* status;                // of the first failure
} model_t;

typedef struct result_t {
  double energy, force[3 * ATOMS], virial[9];
} result_t;

static bool failed(const model_t* model) { return TF_GetCode(model->status) != TF_OK; }

// ---- building -----------------------------------------------------------------------------------

static TF_Output finish(model_t* model, TF_OperationDescription* desc) {
  return (TF_Output){failed(model) ? NULL : TF_FinishOperation(desc, model->status), 0};
}

static TF_Output placeholder(model_t* model, const char* name) {
  TF_OperationDescription* desc = TF_NewOperation(model->graph, "Placeholder", name);
  TF_SetAttrType(desc, "dtype", TF_DOUBLE);
  return finish(model, desc);
}

static TF_Output constant(model_t* model, const char* name, TF_DataType dtype, int rank,
                          const int64_t* dims, const void* values, size_t bytes) {
  TF_OperationDescription* desc = TF_NewOperation(model->graph, "Const", name);
  TF_Tensor* tensor = TF_AllocateTensor(dtype, dims, rank, bytes);
  if (bytes > 0) memcpy(TF_TensorData(tensor), values, bytes);
  TF_SetAttrType(desc, "dtype", dtype);
  TF_SetAttrTensor(desc, "value", tensor, model->status);
  TF_DeleteTensor(tensor);
  return finish(model, desc);
}

static TF_Output node(model_t* model, const char* op, const char* name, const TF_Output* inputs,
                      int count) {
  if (failed(model)) return (TF_Output){NULL, 0};
  TF_OperationDescription* desc = TF_NewOperation(model->graph, op, name);
  for (int i = 0; i < count; ++i) TF_AddInput(desc, inputs[i]);
  if (!strncmp(op, "Prod", 4) && strcmp(op, "ProdEnvMatA") != 0) {
    TF_SetAttrInt(desc, "n_a_sel", PLACES);
    TF_SetAttrInt(desc, "n_r_sel", 0);
  }
  if (!strcmp(op, "ProdEnvMatA")) {
    const int64_t sel_a = PLACES, sel_r = 0;
    TF_SetAttrFloat(desc, "rcut_a", -1);
    TF_SetAttrFloat(desc, "rcut_r", 4);
    TF_SetAttrFloat(desc, "rcut_r_smth", 1);
    TF_SetAttrIntList(desc, "sel_a", &sel_a, 1);
    TF_SetAttrIntList(desc, "sel_r", &sel_r, 1);
  }
  return finish(model, desc);
}

// One frame of atoms of one type in a periodic box.
static void build(model_t* model) {
  static int32_t types[ATOMS];
  static double mean[COLUMNS], deviation[COLUMNS];
  for (int i = 0; i < COLUMNS; ++i) deviation[i] = 1;
  const int32_t natoms[] = {ATOMS, ATOMS, ATOMS}, mesh[6] = {0}, axes[] = {0, 1};
  const double one = 1, half = 0.5;
  model->coord = placeholder(model, "coord");
  model->box = placeholder(model, "box");
  TF_Output type = constant(model, "type", TF_INT32, 2, (int64_t[]){1, ATOMS}, types, sizeof types);
  TF_Output counts = constant(model, "natoms", TF_INT32, 1, (int64_t[]){3}, natoms, sizeof natoms);
  TF_Output cells = constant(model, "mesh", TF_INT32, 1, (int64_t[]){6}, mesh, sizeof mesh);
  TF_Output davg =
      constant(model, "davg", TF_DOUBLE, 2, (int64_t[]){1, COLUMNS}, mean, sizeof mean);
  TF_Output dstd =
      constant(model, "dstd", TF_DOUBLE, 2, (int64_t[]){1, COLUMNS}, deviation, sizeof deviation);
  TF_Output environment =
      node(model, "ProdEnvMatA", "environment",
           (TF_Output[]){model->coord, type, counts, model->box, cells, davg, dstd}, 7);
  TF_Output derivative = {environment.oper, 1}, rij = {environment.oper, 2};
  TF_Output list = {environment.oper, 3};
  TF_Output ones = constant(model, "one", TF_DOUBLE, 0, NULL, &one, sizeof one);
  TF_Output halves = constant(model, "half", TF_DOUBLE, 0, NULL, &half, sizeof half);
  TF_Output all = constant(model, "axes", TF_INT32, 1, (int64_t[]){2}, axes, sizeof axes);
  TF_Output slope = node(model, "Sub", "slope", (TF_Output[]){environment, ones}, 2);
  TF_Output square = node(model, "Square", "square", &slope, 1);
  TF_Output sum = node(model, "Sum", "sum", (TF_Output[]){square, all}, 2);
  model->energy = node(model, "Mul", "energy", (TF_Output[]){sum, halves}, 2);
  model->force = node(model, "ProdForceSeA", "force",
                      (TF_Output[]){slope, derivative, list, counts}, 4);
  model->virial = node(model, "ProdVirialSeA", "virial",
                       (TF_Output[]){slope, derivative, rij, list, counts}, 5);
}

// ---- running ------------------------------------------------------------------------------------

static result_t run(model_t* model, const double* coord, double edge) {
  result_t result = {0};
  const double box[9] = {edge, 0, 0, 0, edge, 0, 0, 0, edge};
  TF_Tensor *feeds[2], *values[3] = {NULL};
  feeds[0] = TF_AllocateTensor(TF_DOUBLE, (int64_t[]){1, 3 * ATOMS}, 2, 3 * ATOMS * sizeof *coord);
  memcpy(TF_TensorData(feeds[0]), coord, 3 * ATOMS * sizeof *coord);
  feeds[1] = TF_AllocateTensor(TF_DOUBLE, (int64_t[]){1, 9}, 2, sizeof box);
  memcpy(TF_TensorData(feeds[1]), box, sizeof box);
  if (!failed(model)) {
    TF_SessionRun(model->session, NULL, (TF_Output[]){model->coord, model->box}, feeds, 2,
                  (TF_Output[]){model->energy, model->force, model->virial}, values, 3, NULL, 0,
                  NULL, model->status);
  }
  if (!failed(model)) {
    memcpy(&result.energy, TF_TensorData(values[0]), sizeof result.energy);
    memcpy(result.force, TF_TensorData(values[1]), sizeof result.force);
    memcpy(result.virial, TF_TensorData(values[2]), sizeof result.virial);
  }
  for (int i = 0; i < 2; ++i) TF_DeleteTensor(feeds[i]);
  for (int i = 0; i < 3; ++i) TF_DeleteTensor(values[i]);
  return result;
}

static void compute(model_t* model) {
  // Atoms near the places of a face-centered cubic crystal, moved a little.
  const double edge = 8, step = 1e-5;
  double coord[3 * ATOMS], worst = 0, sum[3] = {0};
  for (int i = 0; i < ATOMS; ++i) {
    int cell = i / 4, face = i % 4;
    const int corner[3] = {cell / 4, cell / 2 % 2, cell % 2};
    for (int d = 0; d < 3; ++d) {
      double place = corner[d] + (face > 0 && face - 1 != d ? 0.5 : 0);
      coord[3 * i + d] = edge / 2 * place + 0.2 * sin(1 + 7 * i + 3 * d);
    }
  }
  result_t here = run(model, coord, edge);
  for (int i = 0; i < 3 * ATOMS && !failed(model); ++i) {
    double kept = coord[i];
    coord[i] = kept + step;
    double above = run(model, coord, edge).energy;
    coord[i] = kept - step;
    double slope = (above - run(model, coord, edge).energy) / (2 * step);
    coord[i] = kept;
    worst = fmax(worst, fabs(here.force[i] + slope));
    sum[i % 3] += here.force[i];
  }
  // The box grows with the atoms in it.
  double energies[2];
  for (int k = 0; k < 2; ++k) {
    double scale = 1 + (k ? step : -step), scaled[3 * ATOMS];
    for (int i = 0; i < 3 * ATOMS; ++i) scaled[i] = scale * coord[i];
    energies[k] = run(model, scaled, scale * edge).energy;
  }
  if (failed(model)) return;
  double volume = edge * edge * edge;
  printf("%d atoms in a box: energy %.2f\n", ATOMS, here.energy);
  printf("forces are minus the slopes of the energy to %.1e, and their sum is %.1e\n", worst,
         fmax(fabs(sum[0]), fmax(fabs(sum[1]), fabs(sum[2]))));
  printf("pressure from the virial %.6f, from the energies of two boxes %.6f\n",
         (here.virial[0] + here.virial[4] + here.virial[8]) / (3 * volume),
         -(energies[1] - energies[0]) / (2 * step) / (3 * volume));
}

int main(int argc, char** argv) {
  model_t model = {.graph = TF_NewGraph(), .status = TF_NewStatus()};
  TF_Library* library =
      TF_LoadLibrary(argc > 1 ? argv[1] : "lib/deepmd_plugin.so", model.status);
  if (library) build(&model);
  TF_SessionOptions* options = TF_NewSessionOptions();
  if (!failed(&model)) model.session = TF_NewSession(model.graph, options, model.status);
  TF_DeleteSessionOptions(options);
  if (!failed(&model)) compute(&model);
  int code = failed(&model);
  if (code) fprintf(stderr, "deepmd: %s\n", TF_Message(model.status));
  if (model.session) TF_DeleteSession(model.session, model.status);
  TF_DeleteGraph(model.graph);
  if (library) TF_DeleteLibraryHandle(library);
  TF_DeleteStatus(model.status);
  return code;
}
