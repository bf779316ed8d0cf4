#include "layers.hpp"

#include "esp.h"

static const int8_t weights[2 * 4] = { 1, -2, 3, -4, 5, -6, 7, -8 };
/* objects with constructors: start-up code runs these through .init_array */
nn::Dense dense(weights, 2, 4, { 3 << 15, -1 });
nn::Pool pool(8);

static void run_all(const int8_t *input, int8_t *output)
{
    nn::Layer *layers[] = { &pool, &dense };
    int8_t between[4];
    layers[0]->run(input, between);
    layers[1]->run(between, output);
}

/* pool, then dense, on the two objects above */
extern "C" __attribute__((noinline)) void network(const int8_t *input, int8_t *output) { run_all(input, output); }

extern "C" void app_main()
{
    static int8_t input[8] = { 1, 2, 3, 4, 5, 6, 7, 8 }, output[2];
    network(input, output);
    ESP_LOGI("nn", "%d calls, %d", static_cast<int>(dense.calls()), output[0]);
}
