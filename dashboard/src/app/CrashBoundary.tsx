import { Button } from "@mantine/core";
import { useWindowEvent } from "@mantine/hooks";
import { Component, type ReactNode } from "react";
import { IconAlertTriangle } from "../ui/Icons.tsx";
import { EmptyState } from "../ui/PageParts.tsx";

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

/** Replaces the failed part. If a part failed to load, the page reloads when the network returns. */
function Crashed({ error }: { error: Error }) {
  const isNotLoaded = NOT_LOADED.test(error.message);
  useWindowEvent("online", () => {
    if (isNotLoaded) window.location.reload();
  });
  return (
    <div role="alert">
      <EmptyState
        order={1}
        Icon={IconAlertTriangle}
        title={isNotLoaded ? "This page could not be loaded" : "Something went wrong"}
        text={isNotLoaded ? "Check your connection, then reload. The dashboard may have been updated." : error.message}
        action={<Button onClick={() => window.location.reload()}>Reload</Button>}
      />
    </div>
  );
}
