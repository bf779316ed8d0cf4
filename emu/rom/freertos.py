"""FreeRTOS as one task sees it: locks are free, delays over; what needs another task traps by its name."""

from __future__ import annotations

from emu.cpu.hooks import Result
from emu.cpu.traps import TrapKind
from emu.rom.functions import RomCall, rom_function

PASS = 1
HANDLE = 0x3FCE0000
"""A handle that is not 0; nobody looks behind it."""

SUCCEED = (
    "xQueueSemaphoreTake",
    "xQueueTakeMutexRecursive",
    "xQueueGiveMutexRecursive",
    "xQueueGiveFromISR",
    "xPortEnterCriticalTimeout",
    "vTaskSuspendAll",
    "xTaskResumeAll",
    "xPortCanYield",
    "xTaskGetSchedulerState",
)
"""Served as done at once."""

IGNORED = (
    "vPortEnterCritical",
    "vPortExitCritical",
    "vPortExitCriticalCompliance",
    "vPortEnterCriticalCompliance",
    "vTaskDelay",
    "vPortYield",
    "vPortYieldOtherCore",
    "_frxt_setup_switch",
    "vQueueDelete",
    "esp_cache_msync",
    "pthread_mutex_init",
    "pthread_mutex_lock",
    "pthread_mutex_trylock",
    "pthread_mutex_unlock",
    "pthread_mutex_destroy",
    "esp_task_wdt_reset",
    "_lock_init",
    "_lock_init_recursive",
    "_lock_close",
    "_lock_close_recursive",
    "_lock_acquire",
    "_lock_acquire_recursive",
    "_lock_release",
    "_lock_release_recursive",
    "__retarget_lock_acquire",
    "__retarget_lock_acquire_recursive",
    "__retarget_lock_release",
    "__retarget_lock_release_recursive",
    "spi_flash_disable_interrupts_caches_and_other_cpu",
    "spi_flash_enable_interrupts_caches_and_other_cpu",
)
"""Served by doing nothing: with one task and no interrupts nothing else is needed."""

HANDLES = (
    "xQueueCreateMutex",
    "xQueueCreateMutexStatic",
    "xQueueCreateCountingSemaphore",
    "xQueueGenericCreate",
    "xQueueGenericCreateStatic",
    "xTaskGetCurrentTaskHandle",
    "xTaskGetCurrentTaskHandleForCore",
)

NEED_A_SCHEDULER = (
    "xTaskCreatePinnedToCore",
    "xTaskCreateStaticPinnedToCore",
    "xTaskCreate",
    "vTaskDelete",
    "vTaskSuspend",
    "vTaskResume",
    "xTaskGenericNotify",
    "xTaskGenericNotifyWait",
    "ulTaskGenericNotifyTake",
    "xQueueReceive",
    "xQueuePeek",
    "xEventGroupWaitBits",
    "xTimerCreate",
    "vTaskStartScheduler",
)


@rom_function(*SUCCEED, by_symbol=True)
def succeed(call: RomCall) -> int:
    """pdTRUE."""
    return PASS


@rom_function(*IGNORED, by_symbol=True)
def ignore(call: RomCall) -> int:
    """0, where anyone looks."""
    return 0


@rom_function(*HANDLES, by_symbol=True)
def handle(call: RomCall) -> int:
    """Some handle."""
    return HANDLE


@rom_function("xQueueGenericSend", by_symbol=True)
def queue_send(call: RomCall) -> Result:
    """Giving a semaphore or mutex (no item) is done; a real message would need its receiver."""
    if call[1] == 0:
        return PASS
    raise _no_scheduler(call)


@rom_function("xTaskGetTickCount", "xTaskGetTickCountFromISR", by_symbol=True)
def tick_count(call: RomCall) -> int:
    """No time passes."""
    return 0


@rom_function("xPortInIsrContext", "xPortGetCoreID", "xTaskGetCoreID", by_symbol=True)
def zero(call: RomCall) -> int:
    """No interrupt; core 0."""
    return 0


@rom_function(*NEED_A_SCHEDULER, by_symbol=True)
def refuse(call: RomCall) -> None:
    """Only with FreeRTOS running."""
    raise _no_scheduler(call)


def _no_scheduler(call: RomCall) -> Exception:
    message = (
        f"{call.name} is called, which needs FreeRTOS; nothing is booted here, functions run alone. Describe "
        "a function below it that computes, or serve this one from the spec"
    )
    return call.trap(TrapKind.SERVICE, message)
