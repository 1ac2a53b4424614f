import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import com.zaxxer.hikari.HikariPoolMXBean;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.sql.Connection;
import java.sql.Statement;
import java.util.Collections;
import java.util.concurrent.Executors;
import org.jolokia.backend.BackendManager;
import org.jolokia.config.ConfigKey;
import org.jolokia.config.Configuration;
import org.jolokia.http.HttpRequestHandler;
import org.jolokia.util.QuietLogHandler;

public class Main {
    static void answer(HttpExchange exchange, int status, String text) throws IOException {
        byte[] bytes = text.getBytes();
        exchange.sendResponseHeaders(status, bytes.length);
        exchange.getResponseBody().write(bytes);
        exchange.close();
    }

    static HttpServer server(String host, String port, int threads) throws IOException {
        HttpServer server = HttpServer.create(new InetSocketAddress(host, Integer.parseInt(port)), 511);
        server.setExecutor(Executors.newFixedThreadPool(threads));
        return server;
    }

    public static void main(String[] words) throws Exception {
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl(words[2]);
        config.setUsername(words[3]);
        config.setMaximumPoolSize(Integer.parseInt(words[4]));
        config.setPoolName("shop");
        config.setRegisterMbeans(true);
        HikariDataSource pool = new HikariDataSource(config);
        HttpServer shop = server(words[6], words[0], 64), admin = server(words[6], words[1], 1);
        shop.createContext("/", exchange -> {
            try (Connection connection = pool.getConnection(); Statement statement = connection.createStatement()) {
                statement.execute(words[5]);
                answer(exchange, 200, "done");
            } catch (Exception error) {
                answer(exchange, 500, error.toString());
            }
        });
        QuietLogHandler quiet = new QuietLogHandler();
        Configuration named = new Configuration(ConfigKey.AGENT_ID, "shop");
        HttpRequestHandler jolokia = new HttpRequestHandler(named, new BackendManager(named, quiet), quiet);
        admin.createContext("/jolokia", exchange -> {
            String path = exchange.getRequestURI().getPath();
            answer(exchange, 200, jolokia.handleGetRequest(path, path.substring("/jolokia".length()), Collections.emptyMap()).toJSONString());
        });
        // As Micrometer shows it.
        admin.createContext("/actuator/prometheus", exchange -> {
            HikariPoolMXBean now = pool.getHikariPoolMXBean();
            answer(exchange, 200, "# TYPE hikaricp_connections_active gauge\n"
                + "hikaricp_connections_active{pool=\"shop\"} " + now.getActiveConnections() + ".0\n"
                + "hikaricp_connections_max{pool=\"shop\"} " + config.getMaximumPoolSize() + ".0\n"
                + "hikaricp_connections_pending{pool=\"shop\"} " + now.getThreadsAwaitingConnection() + ".0\n");
        });
        shop.start();
        admin.start();
        System.out.println("ready");
    }
}
