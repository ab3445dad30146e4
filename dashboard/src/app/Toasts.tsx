import { Notifications } from "@mantine/notifications";
import "@mantine/notifications/styles.css";

export default function Toasts() {
  return <Notifications position="top-center" />;
}
