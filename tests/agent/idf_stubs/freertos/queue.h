/* Declarations that the port uses, as the documentation of ESP-IDF gives them. */
#ifndef STUB_FREERTOS_QUEUE_H
#define STUB_FREERTOS_QUEUE_H
typedef struct queue *QueueHandle_t;
BaseType_t xQueueReceive(QueueHandle_t queue, void *item, TickType_t ticks);
#endif
