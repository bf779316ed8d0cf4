/* Declarations that the port uses, as the documentation of ESP-IDF gives them. */
#ifndef STUB_FREERTOS_TASK_H
#define STUB_FREERTOS_TASK_H
typedef struct task *TaskHandle_t;
typedef void TaskFunction_t(void *);
BaseType_t xTaskCreatePinnedToCore(TaskFunction_t *code, const char *name, uint32_t stack, void *arg, UBaseType_t priority, TaskHandle_t *handle, BaseType_t core);
TaskHandle_t xTaskGetCurrentTaskHandle(void);
uint32_t ulTaskNotifyTake(BaseType_t clear, TickType_t ticks);
BaseType_t xTaskNotifyGive(TaskHandle_t task);
#endif
