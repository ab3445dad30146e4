import { Divider, Skeleton, Stack } from "@mantine/core";
import { lazy, Suspense } from "react";
import type { Webhook } from "../../../client/index.ts";
import { EnabledSwitch } from "./EnabledSwitch.tsx";
import { Panel } from "./Panel.tsx";

// Loaded apart: it brings the contract's schemas with it.
const SettingsForm = lazy(() => import("./SettingsForm.tsx"));
const FORM_HEIGHT = 340;

/** Whether the endpoint gets anything, where it is, and what it gets. */
export function SettingsPanel({ webhook }: { webhook: Webhook }) {
  return (
    <Panel title="Settings">
      <Stack>
        <EnabledSwitch webhook={webhook} />
        <Divider />
        <Suspense fallback={<Skeleton h={FORM_HEIGHT} />}>
          <SettingsForm webhook={webhook} />
        </Suspense>
      </Stack>
    </Panel>
  );
}
