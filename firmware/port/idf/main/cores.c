/* The second core computes the second half of a model's jobs; the two wait for each other by task notifications. */
#include "freertos/FreeRTOS.h"
#include "freertos/task.h"
#include "agent_idf.h"

#define STACK_BYTES 8192
#define PRIORITY 5

static TaskHandle_t worker, asker;
static struct emu_job job;

static void worker_task(void *unused)
{
    (void)unused;
    for (;;) {
        ulTaskNotifyTake(pdTRUE, portMAX_DELAY);
        job.status = job.part(job.arg, job.first, job.end, 1);
        xTaskNotifyGive(asker);
    }
}

void cores_start(void)
{
    xTaskCreatePinnedToCore(worker_task, "second core", STACK_BYTES, NULL, PRIORITY, &worker, 1);
}

int32_t cores_par(struct emu_run *run, emu_part *part, void *arg, int32_t n)
{
    (void)run;
    int32_t half = (n + 1) / 2;
    if (half == n)
        return part(arg, 0, n, 0);
    asker = xTaskGetCurrentTaskHandle();
    job = (struct emu_job){.part = part, .arg = arg, .first = half, .end = n};
    xTaskNotifyGive(worker);
    int32_t mine = part(arg, 0, half, 0);
    ulTaskNotifyTake(pdTRUE, portMAX_DELAY);
    return mine != EMU_OK ? mine : job.status;
}
