import static io.gatling.javaapi.core.CoreDsl.atOnceUsers;
import static io.gatling.javaapi.core.CoreDsl.exec;
import static io.gatling.javaapi.core.CoreDsl.pause;
import static io.gatling.javaapi.core.CoreDsl.regex;
import static io.gatling.javaapi.core.CoreDsl.scenario;
import static io.gatling.javaapi.core.CoreDsl.substring;
import static io.gatling.javaapi.http.HttpDsl.http;
import static io.gatling.javaapi.http.HttpDsl.status;

import io.gatling.javaapi.core.ChainBuilder;
import io.gatling.javaapi.core.Simulation;
import io.gatling.javaapi.http.HttpProtocolBuilder;
import java.time.Duration;

/**
 * The journey of benchmarks/journeys/journey.yaml for Gatling: 500 users who go through it until the time is over, each with
 * its own connection and cookies.
 *
 * <p>What a browser would do beside the steps (cache, referer, redirects) is off, and so is the request that Gatling
 * sends to its makers' site before it starts.
 */
public final class JourneySimulation extends Simulation {
  private static final int USERS = 500;

  public JourneySimulation() {
    HttpProtocolBuilder site =
        http.baseUrl(System.getProperty("target"))
            .disableWarmUp()
            .disableCaching()
            .disableAutoReferer()
            .disableFollowRedirect();
    ChainBuilder journey =
        exec(
            http("GET /form")
                .get("/form")
                .check(regex("name=\"token\" value=\"([0-9a-f]+)\"").saveAs("token")),
            pause(Duration.ofMillis(50), Duration.ofMillis(150)),
            http("POST /save")
                .post("/save")
                .formParam("token", "#{token}")
                .formParam("answer", "ship")
                .check(status().is(200), substring("saved #{token}")),
            http("GET /ships/1").get("/ships/1"),
            http("GET /ships/2").get("/ships/2"),
            http("GET /ships/3").get("/ships/3"));
    Duration lasting = Duration.ofSeconds(Long.getLong("seconds"));
    setUp(scenario("users").during(lasting).on(journey).injectOpen(atOnceUsers(USERS)))
        .protocols(site);
  }
}
