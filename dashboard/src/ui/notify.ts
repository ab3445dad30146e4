import { notifications } from "@mantine/notifications";

/** Says in a corner that something worked; it goes by itself. What failed is said where it failed. */
export function notify(message: string): void {
  notifications.show({ message, closeButtonProps: { "aria-label": "Close the message" } });
}
