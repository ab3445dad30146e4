import { Notifications } from "@mantine/notifications";
import "@mantine/notifications/styles.css";

export const Component = () => <Notifications position="top-center" />;
