import { Button, Center, Stack, Text, Title } from "@mantine/core";
import { Component, type ReactNode, useEffect } from "react";

/** Shows Crashed when a child throws or a lazy part fails to load. */
export class CrashBoundary extends Component<{ children: ReactNode }, { error: Error | null }> {
  override state = { error: null as Error | null };

  static getDerivedStateFromError(error: unknown) {
    return { error: error instanceof Error ? error : new Error(String(error)) };
  }

  override render() {
    const { error } = this.state;
    return error === null ? this.props.children : <Crashed error={error} />;
  }
}

/** Messages of Chromium, Firefox, Safari and Vite for a script or style that fails to load. */
const NOT_LOADED = /dynamically imported module|importing a module script|preload css/i;

/**
 * Shown instead of what failed. A part that failed to load is tried again when the network returns; after an update of the
 * dashboard, reloading helps.
 */
function Crashed({ error }: { error: Error }) {
  const isNotLoaded = NOT_LOADED.test(error.message);
  useEffect(() => {
    if (!isNotLoaded) return;
    const reload = () => window.location.reload();
    window.addEventListener("online", reload);
    return () => window.removeEventListener("online", reload);
  }, [isNotLoaded]);
  return (
    <Center mih="50dvh" p="md">
      <Stack align="center" role="alert">
        <Title order={1} size="h3" ta="center">
          {isNotLoaded ? "This page could not be loaded" : "Something went wrong"}
        </Title>
        <Text c="dimmed" ta="center">
          {isNotLoaded ? "Check your connection, then reload. The dashboard may have been updated." : error.message}
        </Text>
        <Button onClick={() => window.location.reload()}>Reload</Button>
      </Stack>
    </Center>
  );
}
