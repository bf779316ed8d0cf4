/* The agent as a task of ESP-IDF. All logic is in firmware/agent. */
#include "freertos/FreeRTOS.h"
#include "freertos/task.h"
#include "agent_idf.h"
#include "wire.h"

#define STACK_BYTES 16384
#define PRIORITY 5

static void agent_task(void *unused)
{
    (void)unused;
    struct agent_fault fault;
    uint32_t reason = board_reason(&fault);
    agent_start(reason, reason >= WIRE_EXCEPTION ? &fault : NULL);
    for (;;)
        if (!agent_work())
            line_wait();
}

void app_main(void)
{
    line_start();
#if CONFIG_EMU_SECOND_CORE
    cores_start();
#endif
#if CONFIG_EMU_CLUSTER
    cluster_start();
#endif
    xTaskCreatePinnedToCore(agent_task, "agent", STACK_BYTES, NULL, PRIORITY, NULL, 0);
}
