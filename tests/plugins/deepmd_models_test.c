// Trained models of DeePMD-kit with the ops of examples/plugins/deepmd, judged by the figures that
// DeePMD's own tests hold for them (source/tests/infer and source/tests/tf of its repository, as of
// August 2026): six atoms like two molecules of water, in a box of 13 and in open space. The models
// are read as text where LEAT_DATA_DIR has them. deepmd_plugin_oracle.py runs all of them beside
// DeePMD's library; this test needs no TensorFlow.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "leat/inspect.h"
#include "plugins/deepmd_kit.h"

enum { ATOMS = 6, MOST = 3 * ATOMS };

typedef struct case_t {
  const char* model;
  bool periodic, one_type;
  // In the order of kCoord; atom virials that are all 0 are not compared.
  double energies[ATOMS], forces[3 * ATOMS], virial[9], atom_virials[9 * ATOMS];
  const char* tensor;  // instead of energies: an output of the two oxygens, with its values
  int count;
  double values[MOST];
} case_t;

static const double kCoord[3 * ATOMS] = {12.83, 2.56, 2.18, 12.09, 2.87, 2.74, 0.25, 3.32, 1.68,
                                         3.36,  3.00, 1.81, 3.51,  2.51, 2.60, 4.27, 3.22, 1.56};
// DeePMD sorts atoms by type, and its models rely on it: oxygen, oxygen, then hydrogen.
static const int kOrder[ATOMS] = {0, 3, 1, 2, 4, 5};

static const case_t kCases[] = {
    {.model = "deeppot", .periodic = true,
     .energies = {-92.757807471155, -186.35017865843, -186.33924728635, -92.792813254862,
                  -186.36715452322, -186.36198228476},
     .forces = {-0.30340454207, 0.84058446639, 0.076969474871, 0.76620012667, -0.18806013913,
                -0.61833338711, -0.50361723911, -0.65295258361, 0.5432962643, 0.63823579123,
                -0.17485182968, 0.34573635249, 0.001286482987, 0.37572511653, -0.59725887009,
                -0.59870061971, -0.20044503049, 0.24959016554},
     .virial = {-1.1790314852, -0.25961004747, 0.8164681548, -0.25961004747, -0.78255738769,
                0.56793825872, 0.8164681548, 0.56793825872, -1.1514319074},
     .atom_virials = {-0.29122341269, -0.038006108466, 0.27766249875, -0.050537610039,
                      -0.3152373042, 0.10608942901, 0.28263891316, 0.10391299707, -0.25843787923,
                      -0.3121722368, 0.084832758768, 0.25246623423, 0.041421767711,
                      -0.038202852308, -0.027273111731, 0.26688597898, -0.064482435694,
                      -0.21217314704, -0.086243352203, -0.18096953567, 0.15298752945,
                      -0.12836581852, -0.19926822798, 0.14099249996, 0.13983227353,
                      0.18043184746, -0.1470309319, -0.25939836616, -0.042365362792,
                      0.033863879202, -0.041740175378, -0.10035002822, 0.15256908152,
                      0.033989761099, 0.15222539084, -0.23491255813, 0.00095155459776,
                      -0.016432188492, 0.019932347654, 0.00060272653322, -0.095632563989,
                      0.1510815124, -0.0077380948169, 0.15028327725, -0.23809657837,
                      -0.23094567198, -0.066669610812, 0.079555665512, -0.080990937779,
                      -0.033866410998, 0.044478847557, 0.10085932286, 0.045567181792,
                      -0.060780812738}},
    {.model = "deeppot",
     .energies = {-92.559348393103, -186.3253376737, -185.72372993414, -92.793085397175,
                  -186.37081058232, -186.3635196515},
     .forces = {-2.1610373603, 0.9052994347, 1.635379624, 2.1610373603, -0.9052994347,
                -1.635379624, -0.011671281172, 0.0013719757001, -0.0015752651802, 0.6226508594,
                -0.1816734122, 0.35617660197, -0.014060753939, 0.37891400615, -0.60187778786,
                -0.59691882429, -0.19861256965, 0.24727645108},
     .virial = {-2.1081752053, 0.54175439979, 1.3498198988, 0.54175439979, -0.50956642087,
                -0.158150833, 1.3498198988, -0.158150833, -1.4529103701}},
    {.model = "fparam_aparam", .periodic = true, .one_type = true,
     .energies = {-0.103827118304, -0.072854335752729, -0.094676001740992, -0.14670500862396,
                  -0.076605616206187, -0.072772959985029},
     .forces = {0.066222668175, 0.052787390557, 0.022657274955, -0.026060478509, -0.045388116864,
                0.010582475691, 0.16793924909, -0.0022578280227, -0.044901456704, -0.11483641036,
                -0.011697904667, 0.061404025041, -0.080787781321, -0.058388780562,
                0.067736399897, -0.012477247081, 0.064945239559, -0.11747871888},
     .virial = {-0.66825130215, 0.064831466409, -0.082268995645, 0.064831466409, 0.024849953559,
                -0.084749543069, -0.082268995645, -0.084749543069, 0.10694351914}},
    {.model = "deeppot-r", .periodic = true,
     .energies = {-93.209097628016, -186.8020345401, -186.80111723714, -93.208684303969,
                  -186.80103988444, -186.80167065559},
     .forces = {0.00063853128465, -0.0064604529111, -0.00056524056553, -0.0075164687943,
                0.0011288046142, 0.0055319377846, 0.0019141381249, 0.005601819906,
                -0.0051313595858, -0.0048471044248, 0.0019920715503, -0.0040281598552,
                0.0012363406845, -0.0053739558413, 0.0083128294606, 0.0085745631251,
                0.0031117126819, -0.0041200072387},
     .virial = {0.031876640295, 0.0025893083301, -0.0081698290002, 0.0025893083301,
                0.0078062522032, -0.0070921691588, -0.0081698290002, -0.0070921691588,
                0.01319977696}},
    {.model = "deeppot-r",
     .energies = {-93.212138235081, -186.80441024813, -186.80679838587, -93.208996313014,
                  -186.80145597326, -186.80176607131},
     .forces = {0.0045781511037, -0.001917874111, -0.0034645467812, -0.0045781511037,
                0.001917874111, 0.0034645467812, -0.0026244025817, 0.00035662751285,
                -0.00028593159868, -0.0057677872735, 0.0019070535836, -0.0038890644297,
                0.00017868200664, -0.0053271974736, 0.0082362361828, 0.0082135078486,
                0.0030635163772, -0.0040612401545},
     .virial = {0.019050818289, -0.00053961812487, -0.0041348104593, -0.00053961812487,
                0.0039929621436, -0.003946717173, -0.0041348104593, -0.003946717173,
                0.0094992539283}},
    {.model = "deepdipole", .periodic = true, .tensor = "o_dipole", .count = 6,
     .values = {-0.92741805660, 2.6980283413, 0.25212683871, 2.9272606385, -0.85719263015,
                1.6677851362}},
    {.model = "deeppolar", .periodic = true, .tensor = "o_polar", .count = 18,
     .values = {0.10614079274, -0.35690133421, -0.028621089761, -0.35690133421, 1.3043672689,
                0.10376475015, -0.028621089761, 0.10376475015, 0.0081005215208, 1.2367978295,
                -0.37173074305, 0.73715156770, -0.37173074305, 0.11272226821, -0.22391815528,
                0.73715156770, -0.22391815528, 0.44482553656}},
};

// The model as a graph, or NULL where the data are absent.
static TF_Graph* read_model(const char* model) {
  char path[1000];
  if (!getenv("LEAT_DATA_DIR")) return NULL;
  snprintf(path, sizeof path,
           "%s/models/graphdef_text/deepmodeling_deepmd-kit/source/tests/infer/%s.pbtxt",
           getenv("LEAT_DATA_DIR"), model);
  FILE* file = fopen(path, "rb");
  if (!file) return NULL;
  fseek(file, 0, SEEK_END);
  size_t length = (size_t)ftell(file);
  rewind(file);
  char* text = malloc(length);
  assert_int_equal(fread(text, 1, length, file), length);
  fclose(file);
  TF_Status* s = TF_NewStatus();
  TF_Buffer* read = TF_NewBufferFromString(text, length);
  TF_Buffer* message = leat_message_from_text("GraphDef", read, s);
  kit_ok(s);
  TF_Graph* graph = TF_NewGraph();
  TF_ImportGraphDefOptions* options = TF_NewImportGraphDefOptions();
  TF_GraphImportGraphDef(graph, message, options, s);
  kit_ok(s);
  TF_DeleteImportGraphDefOptions(options);
  TF_DeleteBuffer(message);
  TF_DeleteBuffer(read);
  TF_DeleteStatus(s);
  free(text);
  return graph;
}

static TF_Tensor* feed_of(const case_t* c, const char* name) {
  static const double kBox[9] = {13, 0, 0, 0, 13, 0, 0, 0, 13};
  static const int32_t kMesh[6];
  double coord[3 * ATOMS], parameters[ATOMS];
  int32_t types[ATOMS];
  for (int i = 0; i < ATOMS; ++i) {
    memcpy(coord + 3 * i, kCoord + 3 * kOrder[i], 3 * sizeof *coord);
    types[i] = c->one_type ? 0 : i >= 2;
    parameters[i] = 0.25852028;
  }
  const int32_t natoms[4] = {ATOMS, ATOMS, c->one_type ? ATOMS : 2, 4};
  int64_t six = ATOMS, one = 1, nine = 9, mesh = c->periodic ? 6 : 0, coords = 3 * ATOMS;
  int64_t counts = c->one_type ? 3 : 4;
  if (!strcmp(name, "t_coord")) return kit_tensor(TF_DOUBLE, 1, &coords, coord, sizeof coord);
  if (!strcmp(name, "t_type")) return kit_tensor(TF_INT32, 1, &six, types, sizeof types);
  if (!strcmp(name, "t_natoms")) {
    return kit_tensor(TF_INT32, 1, &counts, natoms, (size_t)counts * sizeof *natoms);
  }
  if (!strcmp(name, "t_box")) return kit_tensor(TF_DOUBLE, 1, &nine, kBox, sizeof kBox);
  if (!strcmp(name, "t_mesh")) {
    return kit_tensor(TF_INT32, 1, &mesh, kMesh, (size_t)mesh * sizeof *kMesh);
  }
  if (!strcmp(name, "t_fparam")) {
    return kit_tensor(TF_DOUBLE, 1, &one, parameters, sizeof *parameters);
  }
  assert_string_equal(name, "t_aparam");
  return kit_tensor(TF_DOUBLE, 1, &six, parameters, sizeof parameters);
}

// Runs the model with a feed for each of its placeholders.
static void run_model(const case_t* c, TF_Graph* graph, const char* const* names, int count,
                      TF_Tensor** out_values) {
  TF_Output feeds[8], fetches[5];
  TF_Tensor* fed[8];
  int fed_count = 0;
  size_t position = 0;
  TF_Status* s = TF_NewStatus();
  for (TF_Operation* op; (op = TF_GraphNextOperation(graph, &position));) {
    if (strcmp(TF_OperationOpType(op), "Placeholder") != 0) continue;
    feeds[fed_count] = kit_out(op, 0);
    fed[fed_count++] = feed_of(c, TF_OperationName(op));
  }
  for (int i = 0; i < count; ++i) {
    TF_Operation* op = TF_GraphOperationByName(graph, names[i]);
    assert_non_null(op);
    fetches[i] = kit_out(op, 0);
  }
  TF_Session* session = kit_session(graph);
  TF_SessionRun(session, NULL, feeds, fed, fed_count, fetches, out_values, count, NULL, 0, NULL,
                s);
  kit_ok(s);
  kit_close(session);
  for (int i = 0; i < fed_count; ++i) TF_DeleteTensor(fed[i]);
  TF_DeleteStatus(s);
}

static void expect_near(const case_t* c, const char* what, const TF_Tensor* tensor, int index,
                        double expected) {
  assert_int_equal(TF_TensorType(tensor), TF_DOUBLE);
  assert_true(index < TF_TensorElementCount(tensor));
  double actual = ((const double*)TF_TensorData(tensor))[index];
  if (fabs(actual - expected) <= 1e-8) return;
  fail_msg("%s: %s %d is %.12g, must be %.12g", c->model, what, index, actual, expected);
}

static void judge(const case_t* c, TF_Graph* graph) {
  static const char* const kNames[] = {"o_atom_energy", "o_force", "o_virial", "o_energy",
                                      "o_atom_virial"};
  TF_Tensor* values[5] = {NULL};
  if (c->tensor) {
    run_model(c, graph, &c->tensor, 1, values);
    assert_int_equal(TF_TensorElementCount(values[0]), c->count);
    for (int i = 0; i < c->count; ++i) expect_near(c, c->tensor, values[0], i, c->values[i]);
    TF_DeleteTensor(values[0]);
    return;
  }
  run_model(c, graph, kNames, 5, values);
  double energy = 0;
  for (int i = 0; i < ATOMS; ++i) {
    int atom = kOrder[i];
    energy += c->energies[atom];
    expect_near(c, kNames[0], values[0], i, c->energies[atom]);
    for (int d = 0; d < 3; ++d) {
      expect_near(c, kNames[1], values[1], 3 * i + d, c->forces[3 * atom + d]);
    }
    for (int k = 0; k < 9 && c->atom_virials[0] != 0; ++k) {
      expect_near(c, kNames[4], values[4], 9 * i + k, c->atom_virials[9 * atom + k]);
    }
  }
  for (int k = 0; k < 9; ++k) expect_near(c, kNames[2], values[2], k, c->virial[k]);
  expect_near(c, kNames[3], values[3], 0, energy);
  for (int i = 0; i < 5; ++i) TF_DeleteTensor(values[i]);
}

static void test_models(void** state) {
  deepmd_load();
  for (size_t i = 0; i < sizeof kCases / sizeof *kCases; ++i) {
    TF_Graph* graph = read_model(kCases[i].model);
    if (!graph) skip();
    judge(&kCases[i], graph);
    TF_DeleteGraph(graph);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_models)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
