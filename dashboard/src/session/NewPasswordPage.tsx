import { Text, VisuallyHidden } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useNavigate } from "react-router";
import { useServices } from "../services.ts";
import { SessionFrame } from "./Guards.tsx";
import { PasswordField, SessionForm } from "./SessionForm.tsx";
import { useSession } from "./use-session.ts";
import { checkNewPassword, useAuthForm } from "./use-auth-form.ts";

/** Opened by the link in a reset email. */
export default function NewPasswordPage() {
  const { auth } = useServices();
  const { session, endRecovery } = useSession();
  const navigate = useNavigate();
  const { field, props } = useAuthForm({ password: checkNewPassword }, async ({ password }) => {
    const answer = await auth.updateUser({ password });
    if (!answer.error) {
      notifications.show({ color: "green", message: "Password changed." });
      endRecovery();
      await navigate("/projects", { replace: true });
    }
    return answer;
  });
  const email = session?.user.email ?? "";
  return (
    <SessionFrame>
      <SessionForm title="Set a new password" submit="Set password" {...props}>
        <Text size="sm" c="dimmed" style={{ overflowWrap: "anywhere" }}>
          For {email}
        </Text>
        {/* Password managers need the email address. */}
        <VisuallyHidden aria-hidden>
          <input type="text" name="email" autoComplete="username" value={email} readOnly tabIndex={-1} />
        </VisuallyHidden>
        <PasswordField label="New password" isNew {...field("password")} />
      </SessionForm>
    </SessionFrame>
  );
}
